"""Slabs with their memory: what a client can reach, and when it ends."""

from __future__ import annotations

import pytest

from motet.remote_memory.core.head_room import SlabCounts
from motet.remote_memory.lender.slab_pool import SlabPool
from motet.remote_memory.wire.memory_messages import (
    NO_SLAB,
    BadMemoryMessage,
    MrInfo,
    SlabKey,
)
from motet.remote_memory.wire.page_requests import StaleSlab
from motet.transport import DirectConnection, Request
from remote_memory_parts import PAGE, SLAB_BYTES, content


def key(info: MrInfo) -> SlabKey:
    return SlabKey(info.token, info.generation)


def pool(slabs: int = 1) -> SlabPool:
    found = SlabPool(SLAB_BYTES)
    found.allocate(slabs)
    return found


def written(slabs: SlabPool, info: MrInfo, data: bytes, offset: int = 0) -> None:
    lent = slabs.find(info.token, info.generation, "a")
    assert lent is not None
    DirectConnection(lambda request: lent.write(request, offset), "a").request(1, b"", (data,))


def got(slabs: SlabPool, info: MrInfo, length: int = PAGE, client: str = "a") -> bytes:
    lent = slabs.find(info.token, info.generation, client)
    assert lent is not None

    def answer(request: Request) -> None:
        lent.read(request, 0, length)

    return bytes(DirectConnection(answer, client).request(1).payload)


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "released"])
def test_memory_that_is_given_back_is_zero_for_the_next_client(keep: bool) -> None:
    """The original hands pages of one client to the next."""
    slabs = pool(1 if keep else 2)
    first = slabs.lend("a")
    written(slabs, first, content(1))
    assert got(slabs, first) == content(1)
    assert slabs.take_back(key(first), keep=keep)
    assert got(slabs, slabs.lend("b"), client="b") == bytes(PAGE)


def test_a_mapping_that_was_given_back_is_revoked() -> None:
    """The original lets a client write to a slab that it has returned."""
    slabs = pool()
    info = slabs.lend("a")
    lent = slabs.find(info.token, info.generation, "a")
    assert lent is not None
    slabs.take_back(key(info), keep=True)
    assert slabs.find(info.token, info.generation, "a") is None
    with pytest.raises(StaleSlab):
        DirectConnection(lambda request: lent.write(request, 0), "a").request(1, b"", (content(2),))
    assert got(slabs, slabs.lend("b"), client="b") == bytes(PAGE)


def test_the_generation_or_client_of_another_mapping_finds_nothing() -> None:
    slabs = pool()
    info = slabs.lend("a")
    assert slabs.find(info.token, info.generation + 1, "a") is None
    assert slabs.find(info.token, info.generation, "b") is None
    assert slabs.find(bytes(16), info.generation, "a") is None


def test_no_slab_is_lent_twice() -> None:
    slabs = pool()
    assert slabs.lend("a") is not NO_SLAB
    assert slabs.lend("b") is NO_SLAB
    assert slabs.counts == SlabCounts(0, 1)


def test_tokens_are_never_used_again() -> None:
    slabs, tokens = pool(), set()
    for _ in range(20):
        info = slabs.lend("a")
        tokens.add(info.token)
        slabs.take_back(key(info), keep=True)
    assert len(tokens) == 20


@pytest.mark.parametrize(("offset", "length"), [(SLAB_BYTES, PAGE), (-PAGE, PAGE), (0, 2**21)])
def test_requests_outside_of_the_slab_are_refused(offset: int, length: int) -> None:
    slabs = pool()
    info = slabs.lend("a")
    lent = slabs.find(info.token, info.generation, "a")
    assert lent is not None
    with pytest.raises(BadMemoryMessage):
        DirectConnection(lambda request: lent.read(request, offset, length), "a").request(1)


def test_released_slabs_hold_no_memory() -> None:
    slabs = pool(3)
    slabs.release(2)
    assert slabs.held_bytes == SLAB_BYTES
    info = slabs.lend("a")
    slabs.take_back(key(info), keep=False)
    assert slabs.held_bytes == 0
