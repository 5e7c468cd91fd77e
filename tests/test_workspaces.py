"""Workspaces come from untrusted plans and are left by untrusted agents: nothing may reach outside, and equal trees give equal bytes."""

import io
import multiprocessing
import os
import tarfile
from pathlib import Path

import pytest
import zstandard

from clawgym import workspaces
from clawgym.errors import UserError
from clawgym.sandbox.base import MAX_ENTRIES, usage


def plan(*paths: str, content: str = "x", may_modify=()) -> dict:
    return {"task_id": "t1", "files": [{"path": path, "type": "txt", "content": content} for path in paths], "may_modify": list(may_modify)}


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a/..", ".", "a/", "a\\b", "a\0b", "a\nb", "x" * 300, "a/" * 80 + "b", "ok/" + "é" * 200],
)
def test_paths_that_leave_or_name_nothing_are_refused(tmp_path, path):
    with pytest.raises(UserError, match="task t1"):
        workspaces.materialise(plan(path), tmp_path / "w")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("paths", [("a", "a"), ("a", "./a"), ("Data/x", "data/X"), ("a", "a/b"), ("A/b", "a")])
def test_paths_that_clash_are_refused(tmp_path, paths):
    with pytest.raises(UserError, match="rename one"):
        workspaces.materialise(plan(*paths), tmp_path)


def test_inputs_are_written_text_and_binary(tmp_path):
    task = plan("a/b c.txt", "ü.csv", content="1\r\n")
    task["files"].append({"path": "pic.png", "type": "base64:png", "content": "iVBORw=="})
    workspaces.materialise(task, tmp_path / "w")
    assert (tmp_path / "w/a/b c.txt").read_bytes() == b"1\r\n" and (tmp_path / "w/pic.png").read_bytes() == b"\x89PNG"
    with pytest.raises(UserError, match="no content"):
        workspaces.materialise(plan("a", content=None), tmp_path / "v")


def test_pristine_inputs_replace_whatever_lies_in_their_place(tmp_path):
    folder, outside = tmp_path / "w", tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("host")
    task = plan("a/f", "b", "c", "mine", may_modify=["mine"])
    workspaces.materialise(task, folder)
    (folder / "a/f").unlink()
    (folder / "a").rmdir()
    (folder / "a").symlink_to(outside)  # a folder of the input is now a link out of the workspace
    (folder / "b").unlink()
    (folder / "b").symlink_to(outside / "f")
    (folder / "c").unlink()
    (folder / "c/d").mkdir(parents=True)
    (folder / "mine").write_text("changed as allowed")
    workspaces.overlay_inputs(task, folder)
    assert (folder / "a/f").read_text() == (folder / "b").read_text() == (folder / "c").read_text() == "x"
    assert not (folder / "a").is_symlink() and (outside / "f").read_text() == "host"
    assert (folder / "mine").read_text() == "changed as allowed"


def tree(folder: Path) -> None:
    (folder / "d/e").mkdir(parents=True)
    (folder / "d/e/f").write_text("1")
    (folder / "run.sh").write_text("echo")
    (folder / "run.sh").chmod(0o4755)
    os.link(folder / "d/e/f", folder / "hard")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(".")
    os.mkfifo(folder / "pipe")
    (folder / "A").write_text("upper")
    (folder / "a").write_text("lower")
    (folder / os.fsdecode(b"\xff\n name")).write_text("odd")
    (folder / "empty").mkdir()


def test_a_snapshot_is_deterministic_and_comes_back_whole(tmp_path):
    (tmp_path / "w").mkdir()
    tree(tmp_path / "w")
    workspaces.snapshot(tmp_path / "w", tmp_path / "1.tar.zst", 1)
    workspaces.restore(tmp_path / "1.tar.zst", tmp_path / "r")
    back = tmp_path / "r"
    assert sorted(os.listdir(back)) == sorted(set(os.listdir(tmp_path / "w")) - {"pipe"})
    assert os.readlink(back / "link") == "/etc/passwd" and (back / "hard").read_text() == "1" and (back / "hard").stat().st_nlink == 1
    assert (back / "run.sh").stat().st_mode & 0o7777 == 0o755 and (back / "A").read_text() + (back / "a").read_text() == "upperlower"
    os.utime(tmp_path / "w/A", (0, 0))
    workspaces.snapshot(tmp_path / "w", tmp_path / "2.tar.zst", 1)
    workspaces.snapshot(back, tmp_path / "3.tar.zst", 1)
    assert len({(tmp_path / f"{i}.tar.zst").read_bytes() for i in (1, 2, 3)}) == 1


def test_too_much_is_refused_and_leaves_no_archive(tmp_path, monkeypatch):
    (tmp_path / "w").mkdir()
    with open(tmp_path / "w/sparse", "wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(ValueError, match="more than 1 MiB"):
        workspaces.snapshot(tmp_path / "w", tmp_path / "s.tar.zst", 1)
    (tmp_path / "w/sparse").unlink()
    for i in range(30):
        (tmp_path / f"w/{i}").touch()
    monkeypatch.setattr(workspaces, "MAX_ENTRIES", 20)
    with pytest.raises(ValueError, match="more than 20 entries"):
        workspaces.snapshot(tmp_path / "w", tmp_path / "s.tar.zst", 1)
    deep = tmp_path / "deep" / "/".join("d" * 1 for _ in range(80))
    deep.mkdir(parents=True)
    with pytest.raises(ValueError):
        workspaces.snapshot(tmp_path / "deep", tmp_path / "s.tar.zst", 1)
    assert not list(tmp_path.glob("*s.tar.zst*"))


def archive(path: Path, *entries: tuple[str, bytes, str, bytes]) -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, target, data in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kind, target, len(data)
            tar.addfile(entry, io.BytesIO(data))
    path.write_bytes(zstandard.compress(packed.getvalue()))
    return path


@pytest.mark.parametrize(
    "entries",
    [
        [("/abs", tarfile.REGTYPE, "", b"x")],
        [("../up", tarfile.REGTYPE, "", b"x")],
        [("a/../../up", tarfile.REGTYPE, "", b"x")],
        [("..", tarfile.SYMTYPE, "x", b"")],
        [("h", tarfile.LNKTYPE, "/etc/passwd", b"")],
        [("n", tarfile.CHRTYPE, "", b"")],
        [("p", tarfile.FIFOTYPE, "", b"")],
        [("big", tarfile.REGTYPE, "", b"0" * (3 << 20))],
    ],
)
def test_hostile_archives_are_refused(tmp_path, entries):
    with pytest.raises(ValueError):
        workspaces.restore(archive(tmp_path / "x.tar.zst", *entries), tmp_path / "r", max_mb=2)
    assert not (tmp_path / "up").exists()


def test_a_restore_writes_through_no_link_of_the_archive(tmp_path):
    (tmp_path / "outside").mkdir()
    source = archive(
        tmp_path / "x.tar.zst",
        ("d", tarfile.SYMTYPE, str(tmp_path / "outside"), b""),
        ("d/f", tarfile.REGTYPE, "", b"x"),
    )
    with pytest.raises((ValueError, OSError)):
        workspaces.restore(source, tmp_path / "r")
    assert not list((tmp_path / "outside").iterdir())


def test_a_restore_needs_an_empty_folder(tmp_path):
    (tmp_path / "w").mkdir()
    workspaces.snapshot(tmp_path / "w", tmp_path / "s.tar.zst", 1)
    (tmp_path / "r").mkdir()
    (tmp_path / "r/x").touch()
    with pytest.raises(ValueError, match="empty"):
        workspaces.restore(tmp_path / "s.tar.zst", tmp_path / "r")


def test_artefacts_are_read_without_following_links(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/f").write_text("12345")
    (tmp_path / "l").symlink_to("a/f")
    (tmp_path / "dl").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    assert workspaces.read_artifact(tmp_path, "a/f", 3) == b"123"
    for path in ("l", "dl/f", "a", "pipe", "none", "../x", "/etc/passwd", ""):
        assert workspaces.read_artifact(tmp_path, path, 10) is None


def _locked_up() -> None:
    """As an ordinary user, for whom permissions count: lock the workspace in every way, then lay inputs over it and keep it."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    for locked, mode in [(".", 0), ("in", 0), ("in", 0o555), ("in/a.txt", 0)]:
        with workspaces.scratch("clawgym-test-") as aside:
            folder = aside / "w"
            workspaces.materialise(plan("in/a.txt"), folder)
            if locked == "in/a.txt":
                (folder / "in/a.txt").unlink()
                (folder / "in/a.txt/below").mkdir(parents=True)
            (folder / locked).chmod(mode)
            workspaces.overlay_inputs(plan("in/a.txt"), folder)
            assert (folder / "in/a.txt").read_text() == "x"
            (folder / locked).chmod(mode)
            workspaces.snapshot(folder, aside / "s.tar.zst", 1)
            (folder / locked).chmod(mode)
        assert not aside.exists()


def test_an_agent_that_takes_away_permissions_locks_nobody_out():
    child = multiprocessing.get_context("fork").Process(target=_locked_up)
    child.start()
    child.join()
    assert child.exitcode == 0


def test_a_bottomless_tree_is_removed_and_counts_as_too_much():
    with workspaces.scratch("clawgym-test-") as folder:
        fd = os.open(folder, os.O_RDONLY)
        for _ in range(1200):
            os.mkdir("deep", dir_fd=fd)
            below = os.open("deep", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        os.close(fd)
        assert usage(folder)[1] > MAX_ENTRIES
        with pytest.raises(ValueError, match="deeper than"):
            workspaces.overlay_inputs(plan("a"), folder)
    assert not folder.exists()
