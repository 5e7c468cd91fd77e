"""Fan-out: which records a job works on."""

import hashlib


def belongs(record_id: str, shard: int, shards: int) -> bool:
    """Does the record belong to this shard? Depends on the id alone, so that new records never move old ones."""
    return int(hashlib.sha256(record_id.encode()).hexdigest()[:8], 16) % shards == shard
