"""The workflow notices when an imported set changes."""

from clawgym.imports.listing import listing


def test_the_listing_changes_with_the_files_and_only_then(tmp_path):
    (tmp_path / "a.md").write_text("1")
    before = listing([str(tmp_path), None])
    assert listing([str(tmp_path), None]) == before
    (tmp_path / "b.md").write_text("2")
    assert listing([str(tmp_path)]) != before


def test_folders_that_are_missing_or_null_count_as_empty(tmp_path):
    assert listing([None, str(tmp_path / "absent")]) == listing([])
