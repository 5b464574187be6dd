"""Replays that users asked for, and their results, in SQLite. A number is never used twice."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from motet.domain.errors import MotetError
from motet.live.journal.private_file import close_to_others

NAME = "what_if.db"
MOST_PER_USER, MOST = 20, 200
"""Further ones take the place of the oldest."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS replays (
    number INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT, policy TEXT, settings TEXT,
    since_us INTEGER, asked_us INTEGER, ended_us INTEGER, state TEXT, message TEXT, result TEXT
)
"""
_COLUMNS = "number, user, policy, settings, since_us, asked_us, ended_us, state, message"


class ReplayUnderWay(MotetError):
    """A user has at most one replay that has not ended; `number`: its number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"your replay {number} has not ended yet: wait for it, or stop it")
        self.number = number


class ReplayState(StrEnum):
    """What became of a replay."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class WantedReplay:
    """`since_us`: Unix time; None: all jobs."""

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    since_us: int | None = None


@dataclass(frozen=True, slots=True)
class StoredReplay:
    """Times are Unix microseconds. `message`: why it failed."""

    number: int
    user: str
    wanted: WantedReplay
    asked_us: int
    ended_us: int | None
    state: ReplayState
    message: str


class ReplayStore:
    """May be used by any thread."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of this user alone."""
        self._path = folder / NAME
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def open(self, now_us: int) -> None:
        """Open the database; replays of a server that has ended have failed."""
        close_to_others(self._path)
        self._database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._run("PRAGMA journal_mode=WAL", [])
        self._run(_SCHEMA, [])
        values = [ReplayState.FAILED, "the server ended meanwhile", now_us, ReplayState.RUNNING]
        self._run("UPDATE replays SET state = ?, message = ?, ended_us = ? WHERE state = ?", values)

    def add(self, user: str, wanted: WantedReplay, now_us: int) -> int:
        """Its number. The oldest ones make room. Raises ReplayUnderWay."""
        settings = json.dumps(dict(wanted.settings))
        given = [user, wanted.policy, settings, wanted.since_us, now_us, ReplayState.RUNNING, user]
        found = self._run(
            "INSERT INTO replays (user, policy, settings, since_us, asked_us, state, message) "
            "SELECT ?, ?, ?, ?, ?, ?, '' WHERE NOT EXISTS "
            "(SELECT 1 FROM replays WHERE user = ? AND state = 'running') RETURNING number",
            given,
        )
        if not found:
            raise ReplayUnderWay(self._running_of(user))
        self._make_room(user)
        return int(found[0][0])

    def end(self, number: int, state: ReplayState, now_us: int, message: str, result: str) -> None:
        """Note what became of a replay, unless it has ended before. `result`: JSON, or empty."""
        self._run(
            "UPDATE replays SET state = ?, ended_us = ?, message = ?, result = ? "
            "WHERE number = ? AND state = 'running'",
            [state, now_us, message, result, number],
        )

    def delete(self, number: int) -> None:
        """Forget a replay that has ended."""
        self._run("DELETE FROM replays WHERE number = ? AND state != 'running'", [number])

    def find(self, number: int) -> StoredReplay | None:
        """One of them."""
        rows = self._run(f"SELECT {_COLUMNS} FROM replays WHERE number = ?", [number])
        return _replay(rows[0]) if rows else None

    def all(self) -> list[StoredReplay]:
        """The latest first."""
        return [
            _replay(row)
            for row in self._run(f"SELECT {_COLUMNS} FROM replays ORDER BY number DESC", [])
        ]

    def result(self, number: int) -> dict[str, Any] | None:
        """Of a replay that is done."""
        rows = self._run("SELECT result FROM replays WHERE number = ? AND state = 'done'", [number])
        return dict(json.loads(rows[0][0])) if rows else None

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()

    def _running_of(self, user: str) -> int:
        rows = self._run(
            "SELECT coalesce(max(number), 0) FROM replays WHERE user = ? AND state = 'running'",
            [user],
        )
        return int(rows[0][0])

    def _make_room(self, user: str) -> None:
        for chosen, values, most in (("user = ?", [user], MOST_PER_USER), ("1", [], MOST)):
            self._run(
                f"DELETE FROM replays WHERE state != 'running' AND {chosen} AND number NOT IN "
                f"(SELECT number FROM replays WHERE {chosen} ORDER BY number DESC LIMIT ?)",
                [*values, *values, most],
            )

    def _run(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        assert self._database is not None
        with self._lock:
            return self._database.execute(statement, values).fetchall()


def _replay(row: tuple[Any, ...]) -> StoredReplay:
    number, user, policy, settings, since_us, asked_us, ended_us, state, message = row
    wanted = WantedReplay(policy, json.loads(settings), since_us)
    return StoredReplay(number, user, wanted, asked_us, ended_us, ReplayState(state), message)
