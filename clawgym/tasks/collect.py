"""Putting the tables of the shards together, in an order that does not depend on the number of shards."""

from pathlib import Path

import pyarrow as pa

from clawgym.tables import provenance, read_rows, write_table


def concatenate(shards: list[Path], schema: pa.Schema, key: str, out: Path) -> int:
    """Write the rows of all shards to `out`, sorted by column `key` (rows of equal key stay in order). Returns their number."""
    rows = [row for shard in shards for row in read_rows(shard, schema)]
    write_table(sorted(rows, key=lambda row: row[key]), schema, out, provenance(shards[0]))
    return len(rows)
