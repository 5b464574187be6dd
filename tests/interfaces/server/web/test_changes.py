"""Streams of events: how many there may be, and when they end."""

from __future__ import annotations

import asyncio

import pytest

from motet.interfaces.server.web.changes import MOST_OF_USER, MOST_STREAMS, Changes


def test_no_user_takes_all_streams() -> None:
    async def check() -> None:
        changes = Changes()
        streams = [changes.stream("me", lambda: True) for _ in range(MOST_OF_USER)]
        for each in streams:
            assert not changes.is_full("me")
            await anext(each)
        assert changes.is_full("me")
        assert not changes.is_full("other")
        await streams[0].aclose()
        assert not changes.is_full("me")
        others = [changes.stream(str(each), lambda: True) for each in range(MOST_STREAMS)]
        for each in others[: MOST_STREAMS - MOST_OF_USER + 1]:
            await anext(each)
        assert changes.is_full("new")

    asyncio.run(check())


def test_a_stream_ends_before_it_tells_a_revoked_user_anything() -> None:
    async def check() -> None:
        changes, valid = Changes(), [True]
        stream = changes.stream("me", lambda: valid[0])
        await anext(stream)
        changes.changed()
        assert "changed" in await anext(stream)
        valid[0] = False
        changes.changed()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert not changes.is_full("me")

    asyncio.run(check())
