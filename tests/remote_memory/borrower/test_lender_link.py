"""When the connections to a lender are given up, and when they are not."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from motet.domain.errors import ConnectionLost
from motet.remote_memory.borrower import lender_link
from motet.remote_memory.borrower.lender_link import LenderLink
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.wire.memory_messages import (
    TOKEN_BYTES,
    EvictSlabs,
    MemoryMessageKind,
    SlabKey,
)
from motet.transport import Arena, Endpoint, Request, Server
from remote_memory_parts import PAGE, SECRET, SLAB_BYTES
from waiting import wait_until

MAPPING = SlabMapping("lender", bytes(TOKEN_BYTES), 1)


class HeldEvents:
    """LenderEvents. `lost` waits while `slab` is held, as for a thread that has a slab's lock."""

    def __init__(self) -> None:
        self.slab = threading.Lock()
        self.losing = threading.Event()
        self.times_lost = self.times_reached = 0

    def activity(self, keys: Sequence[SlabKey]) -> Sequence[tuple[SlabKey, float]]:
        raise AssertionError(keys)

    def evict(self, lender: str, keys: Sequence[SlabKey]) -> Sequence[SlabKey]:
        raise AssertionError((lender, keys))

    def lost(self, lender: str) -> None:
        del lender
        self.losing.set()
        with self.slab:
            self.times_lost += 1

    def reached(self, lender: str) -> None:
        del lender
        self.times_reached += 1


@pytest.fixture
def held() -> list[Request]:
    """What a lender has got that never answers."""
    return []


@pytest.fixture
def endpoint(held: list[Request]) -> Iterator[Endpoint]:
    with Server(held.append, SECRET) as server:
        yield server.endpoint


@pytest.fixture
def events() -> HeldEvents:
    return HeldEvents()


@pytest.fixture
def link(endpoint: Endpoint, events: HeldEvents) -> Iterator[LenderLink]:
    arena = Arena()
    link = LenderLink(endpoint, SECRET, "device", arena, events)
    link.start()
    wait_until(lambda: events.times_reached)
    yield link
    link.close()
    arena.close()


def test_a_silent_lender_is_given_up_while_a_slab_is_held(
    link: LenderLink, events: HeldEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder may wait for another silent lender, which the same thread has to give up, too."""
    monkeypatch.setattr(lender_link, "ANSWER_WITHIN_S", 0.1)
    with events.slab:
        link.check(SLAB_BYTES)()
        assert events.losing.wait(100)
        assert "no answer" in link.failure
    wait_until(lambda: events.times_reached == 2)
    assert events.times_lost == 1


def test_an_error_of_earlier_connections_does_not_end_the_next_ones(
    link: LenderLink, events: HeldEvents, held: list[Request]
) -> None:
    calls = [link.submit_read(MAPPING, 0, memoryview(bytearray(PAGE)))]
    wait_until(lambda: MemoryMessageKind.READ_PAGES in [each.kind for each in held])
    for each in list(held):
        each.disconnect()
    wait_until(lambda: events.times_reached == 2)
    with pytest.raises(ConnectionLost) as old:
        calls[0].wait()
    link.fail(old.value)
    assert link.is_up
    assert events.times_lost == 1

    calls.append(link.submit_read(MAPPING, 0, memoryview(bytearray(PAGE))))
    wait_until(lambda: held[-1].kind == MemoryMessageKind.READ_PAGES)
    held[-1].disconnect()
    with pytest.raises(ConnectionLost) as new:
        calls[1].wait()
    link.fail(new.value)
    assert events.times_lost == 2


def test_a_lender_whose_message_fails_here_is_tried_again(
    link: LenderLink, events: HeldEvents, held: list[Request]
) -> None:
    message = EvictSlabs((SlabKey(MAPPING.token, MAPPING.generation),))
    wait_until(lambda: held)
    held[0].reply(message.kind, message.encode())
    wait_until(lambda: events.times_reached == 2)
    assert events.times_lost == 1
    assert link.is_up
