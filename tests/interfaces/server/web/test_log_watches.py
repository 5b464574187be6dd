"""Watches of logs: whom they tell, and that none is left over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from motet.interfaces.server.web import log_watches
from motet.interfaces.server.web.changes import Changes
from motet.interfaces.server.web.log_watches import LogWatch, LogWatches


async def next_event(stream: AsyncIterator[str]) -> str:
    return await asyncio.wait_for(anext(stream), 60)


async def opened(changes: Changes, user: str) -> AsyncIterator[str]:
    """A stream that has begun."""
    stream = changes.stream(user, lambda: True)
    assert (await next_event(stream)).startswith("retry:")
    return stream


def test_a_log_that_grows_is_told_to_its_reader_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\n")

    async def check() -> None:
        changes = Changes()
        mine, other = await opened(changes, "me"), await opened(changes, "other")
        told = [asyncio.ensure_future(next_event(each)) for each in (mine, other)]
        watches = LogWatches(changes)
        watches.add(LogWatch("me", "7/attempts/1/log/0", path, 4))
        with path.open("a") as file:
            file.write("two\n")
        assert await told[0] == "event: log\ndata: 7/attempts/1/log/0\n\n"
        changes.changed()
        assert await told[1] == "event: changed\ndata: \n\n"
        assert await next_event(mine) == "event: changed\ndata: \n\n"

    asyncio.run(check())


def test_of_two_pages_the_one_that_has_read_less_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\n")

    async def check() -> None:
        changes = Changes()
        stream, watches = await opened(changes, "me"), LogWatches(changes)
        for seen in (4, 0, 4):
            watches.add(LogWatch("me", "log", path, seen))
        assert await next_event(stream) == "event: log\ndata: log\n\n"

    asyncio.run(check())


def test_a_watch_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watches, "LONGEST_WATCH_S", 0.0)

    async def check() -> None:
        changes = Changes()
        stream, watches = await opened(changes, "me"), LogWatches(changes)
        watches.add(LogWatch("me", "silent", tmp_path / "none", 0))
        assert await next_event(stream) == "event: log\ndata: silent\n\n"
        assert len(watches) == 0

    asyncio.run(check())


def test_too_many_watches_end_the_oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watches, "MOST_WATCHES", 2)

    async def check() -> None:
        changes = Changes()
        stream, watches = await opened(changes, "me"), LogWatches(changes)
        for name in ("first", "second", "third"):
            watches.add(LogWatch("me", name, tmp_path / name, 0))
        assert await next_event(stream) == "event: log\ndata: first\n\n"
        assert len(watches) == 2

    asyncio.run(check())
