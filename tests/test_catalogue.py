"""results/README.md says what the schemas say, and leaves no artefact of the workflow out."""

import importlib
import re
from pathlib import Path

import pyarrow as pa
import pytest

from clawgym import catalogue

ROOT = Path(__file__).parents[1]


def test_the_file_is_what_the_schemas_generate():
    assert (ROOT / "results/README.md").read_text() == catalogue.text(), "run `python -m clawgym.catalogue`"


@pytest.mark.parametrize("table", catalogue.TABLES, ids=lambda table: table.path)
def test_every_column_has_a_meaning(table):
    assert [field.name for field in table.columns() if not (field.metadata or {}).get(b"meaning")] == []


def test_every_schema_is_in_the_catalogue():
    """Top-level pyarrow schemas of all stages, under some path."""
    listed = [table.columns() for table in catalogue.TABLES]
    for module in sorted(ROOT.glob("clawgym/*/schema.py")):
        stage = importlib.import_module(f"clawgym.{module.parent.name}.schema")
        for name, value in vars(stage).items():
            if isinstance(value, pa.Schema):
                assert any(value is schema for schema in listed), f"{module}: {name} has no table in clawgym/catalogue.py"


def test_every_table_of_the_rules_is_in_the_catalogue():
    """Paths of outputs as the rules write them, shards left out (they are parts of a listed table)."""
    listed = {table.path for table in catalogue.TABLES}
    found = {path for rules in ROOT.glob("rules/*.smk") for path in re.findall(r'"results/([^"]+\.parquet)"', rules.read_text())}
    concrete = {path for path in found if "shards/" not in path and not re.search(r"\{(table|name)\}", path)}
    patterns = [re.compile(re.sub(r"\\\{[a-z]+\\\}", "[^/]+", re.escape(path))) for path in listed]
    assert sorted(path for path in concrete if not any(pattern.fullmatch(path) for pattern in patterns)) == []
