"""Where the machine's own disk is full, nothing is measured: a write that failed is not the agent's doing."""

from clawgym import workspaces
from tests.rollouts.conftest import say, turns


def test_a_rollout_on_a_full_disk_is_a_failure_and_tried_again(stage, monkeypatch):
    room = iter([False, True])
    monkeypatch.setattr(workspaces, "spacious", lambda folder: next(room))
    script = turns(say(None, ("write", {"path": "a", "content": "x"})), say("Done."))
    (row,) = stage.run(script, retries=1)
    assert row["status"] == "finished" and next(room, None) is None
    room = iter([False])
    (row,) = stage.run(script, [dict(row, instruction="Again.", files=[])])
    assert row["status"] == "failed" and row["failure_kind"] == "sandbox" and "is full; free some space or set TMPDIR" in row["detail"]


def test_room_is_bytes_and_files(tmp_path, monkeypatch):
    assert workspaces.spacious(tmp_path)
    for name in ("RESERVE_BYTES", "RESERVE_FILES"):
        with monkeypatch.context() as patch:
            patch.setattr(workspaces, name, 2**62)
            assert not workspaces.spacious(tmp_path) or name == "RESERVE_FILES"  # file systems without a bound on files report none
