"""The response cache and the ledger of one working copy: one SQLite file, shared by all jobs, whole after a kill -9.

An answer that was paid for is committed before anybody uses it, so a failed job pays nothing twice. Errors are never kept.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clawgym.errors import UserError

SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, role TEXT, model TEXT, created REAL, answer TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger (
  stage TEXT, role TEXT, model TEXT,
  calls INTEGER NOT NULL DEFAULT 0, cache_hits INTEGER NOT NULL DEFAULT 0,
  tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0, usd REAL NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (stage, role, model)
) WITHOUT ROWID;
"""
COUNTERS = ("calls", "cache_hits", "tokens_in", "tokens_out", "usd", "retries", "failures")
OPENING_TRIES = 100
NETWORK_FILE_SYSTEMS = ("nfs", "lustre", "gpfs", "beegfs", "cifs", "smb", "ceph", "fuse")


@dataclass
class Usage:
    """Counters of one (stage, role, model); usd in US dollars."""

    calls: int = 0
    cache_hits: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    retries: int = 0
    failures: int = 0


def on_network(path: Path, mounts: str) -> bool:
    """Does `path` lie on a network file system, by the lines of /proc/mounts?"""
    best, kind = "", ""
    for line in mounts.splitlines():
        _, mount, fs_type, *_ = line.split()
        mount = mount.rstrip("/")
        if len(mount) >= len(best) and (str(path) + "/").startswith(mount + "/"):
            best, kind = mount, fs_type
    return kind.startswith(NETWORK_FILE_SYSTEMS)


class Store:
    """Answers by key and the ledger, in the file `path` (created with its folder). Safe for many processes at once.

    The journal is a write-ahead log, which needs shared memory between its users; on a network file system, where jobs of
    several nodes meet, it is a rollback journal instead.
    Raises UserError if the file is not a database or its folder cannot be written.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(self.path, timeout=120, isolation_level=None)
            mounts = Path("/proc/mounts")
            network = mounts.exists() and on_network(self.path.resolve(), mounts.read_text())
            self._journal("DELETE" if network else "WAL")
            self.db.execute(f"PRAGMA synchronous={'FULL' if network else 'NORMAL'}")
            self.db.executescript(SCHEMA)
        except (sqlite3.DatabaseError, OSError) as error:
            raise UserError(f"{self.path}: expected the response cache ({error}); move it away or set spend.cache to another") from None

    def _journal(self, mode: str) -> None:
        """Choose the journal. Jobs that open a new file at the same moment refuse each other at once here, whatever their timeout."""
        for _ in range(OPENING_TRIES):
            try:
                self.db.execute(f"PRAGMA journal_mode={mode}")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                time.sleep(0.1)
        self.db.execute(f"PRAGMA journal_mode={mode}")

    def close(self) -> None:
        self.db.close()

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Raises UserError where SQLite cannot do it: a full disk, a file damaged or locked by another program."""
        try:
            return self.db.execute(statement, values)
        except sqlite3.DatabaseError as error:
            remedy = "free some space" if "full" in str(error) or "I/O" in str(error) else "see to the file or move it away"
            raise UserError(f"{self.path}: the response cache cannot be used ({error}); {remedy} and run again") from None

    def get(self, key: str) -> dict | None:
        row = self._execute("SELECT answer FROM responses WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, key: str, role: str, model: str, answer: dict) -> None:
        """Commit an answer. The first one stays: two jobs that asked the same agree afterwards."""
        text = json.dumps(answer, ensure_ascii=False)
        self._execute("INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?, ?)", (key, role, model, time.time(), text))

    def record_usage(self, stage: str, role: str, model: str, **counts: float) -> None:
        """Add to the ledger: any of calls, cache_hits, tokens_in, tokens_out, usd, retries, failures."""
        if unknown := set(counts) - set(COUNTERS):
            raise ValueError(f"the ledger does not count {sorted(unknown)}")
        values = [counts.get(name, 0) for name in COUNTERS]
        added = ", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTERS)
        self._execute(
            f"INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stage, role, model) DO UPDATE SET {added}",
            [stage, role, model, *values],
        )

    def spent(self) -> float:
        """US dollars of all paid calls of this working copy so far."""
        return self._execute("SELECT COALESCE(SUM(usd), 0) FROM ledger").fetchone()[0]

    def ledger(self) -> list[dict[str, Any]]:
        """All rows of the ledger, ordered by stage, role and model."""
        names = ("stage", "role", "model", *COUNTERS)
        rows = self._execute(f"SELECT {', '.join(names)} FROM ledger ORDER BY stage, role, model").fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows]
