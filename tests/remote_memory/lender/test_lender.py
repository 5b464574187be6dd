"""A lender and clients that do not do as they should."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.domain.errors import BadInput, ConnectionLost, MotetError
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.remote_memory.wire.memory_messages import (
    BadMemoryMessage,
    CheckActivity,
    EvictionDone,
    EvictSlabs,
    FreeMem,
    MapSlab,
    MemoryMessageKind,
    MrInfo,
    QueryMem,
    SlabKey,
)
from motet.remote_memory.wire.page_requests import StaleSlab, encode_page_request
from motet.transport import Arena, Connection
from remote_memory_parts import (
    PAGE,
    SECRET,
    SLAB_BYTES,
    MovableMemory,
    content,
    lending,
)
from waiting import wait_until

LARGE_BYTES = 1 << 17
"""Requests of so many bytes use shared memory."""


class Client:
    """A device's connections, used by hand."""

    def __init__(self, lender: Lender, name: str) -> None:
        self.control = Connection(lender.endpoint, SECRET, client_id=name, retry_for_s=0)
        self.data = Connection(lender.endpoint, SECRET, client_id=name, retry_for_s=0)
        self.listening = self.control.submit(MemoryMessageKind.LISTEN)

    def map(self, slab_bytes: int = SLAB_BYTES) -> MrInfo:
        reply = self.control.request(MemoryMessageKind.MAP, MapSlab(slab_bytes).encode())
        assert reply.status == MemoryMessageKind.MR_INFO
        return MrInfo.decode(reply.meta)

    def write(self, info: MrInfo, data: bytes) -> None:
        head = encode_page_request(info.token, info.generation, 0, len(data))
        self.data.request(MemoryMessageKind.WRITE_PAGES, head, (data,))

    def read(self, info: MrInfo, length: int = PAGE) -> bytes:
        head = encode_page_request(info.token, info.generation, 0, length)
        return bytes(self.data.request(MemoryMessageKind.READ_PAGES, head).payload)

    def close(self) -> None:
        self.control.close()
        self.data.close()


@contextmanager
def client_of(lender: Lender, name: str = "device/1") -> Iterator[Client]:
    client = Client(lender, name)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture(scope="module")
def lender() -> Iterator[Lender]:
    with lending() as found:
        yield found


def key(info: MrInfo) -> SlabKey:
    return SlabKey(info.token, info.generation)


def test_free_slabs_of_the_right_size_are_offered(lender: Lender) -> None:
    with client_of(lender) as client:
        for size, expected in ((SLAB_BYTES, 8), (2 * SLAB_BYTES, 0)):
            reply = client.control.request(MemoryMessageKind.QUERY_MEM, QueryMem(size).encode())
            assert reply.status == MemoryMessageKind.FREE_MEM
            assert FreeMem.decode(reply.meta) == FreeMem(expected, SLAB_BYTES)


def test_another_client_cannot_use_a_token(lender: Lender) -> None:
    with client_of(lender, "device/1") as owner, client_of(lender, "device/2") as other:
        info = owner.map()
        owner.write(info, content(1))
        with pytest.raises(StaleSlab):
            other.read(info)
        assert owner.read(info) == content(1)


def test_a_client_that_does_not_listen_gets_no_slab(lender: Lender) -> None:
    """Its slabs could not be evicted."""
    with Connection(lender.endpoint, SECRET, client_id="device/9") as control:
        reply = control.request(MemoryMessageKind.MAP, MapSlab(SLAB_BYTES).encode())
    assert MrInfo.decode(reply.meta).length == 0


def test_slabs_of_a_client_that_disconnects_are_free_again(lender: Lender) -> None:
    """And the lender goes on measuring: in the original it stops with the last client."""
    with client_of(lender, "device/8") as client:
        client.map()
        assert lender.view().clients["device/8"] == 1
    wait_until(lambda: lender.view().mapped_slabs == 0)
    with client_of(lender, "device/3") as client:
        client.map()
    wait_until(lambda: lender.view().free_slabs == 8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([*(each for each in MemoryMessageKind if each != 16), 77]),
    meta=st.binary(max_size=60),
    payload=st.binary(max_size=40),
)
def test_requests_that_make_no_sense_are_refused_and_the_lender_goes_on(
    fuzzed: Client, kind: int, meta: bytes, payload: bytes
) -> None:
    """In the original a request that fails ends the daemon."""
    with pytest.raises(MotetError):
        fuzzed.data.request(kind, meta, (payload,))
    assert fuzzed.read(fuzzed.map()) == bytes(PAGE)


@pytest.fixture
def fuzzed() -> Iterator[Client]:
    with lending(1024) as lender, client_of(lender) as client:
        yield client


def evicted(machine: MovableMemory, client: Client, slabs: int) -> EvictSlabs:
    """The lender's EVICT after a CHECK_ACTIVITY that is not answered."""
    machine.leave(slabs)
    question = client.listening.wait()
    assert question.status == MemoryMessageKind.CHECK_ACTIVITY
    assert CheckActivity.decode(question.meta).slabs
    client.listening = client.control.submit(MemoryMessageKind.LISTEN)
    reply = client.listening.wait()
    assert reply.status == MemoryMessageKind.EVICT
    return EvictSlabs.decode(reply.meta)


def test_an_evicted_slab_is_the_clients_until_done() -> None:
    machine = MovableMemory()
    with lending(2, memory=machine) as lender, client_of(lender) as client:
        info = client.map()
        client.write(info, content(1))
        assert evicted(machine, client, 0).slabs == (key(info),)
        assert client.read(info) == content(1)
        assert lender.held_bytes == SLAB_BYTES
        client.control.request(MemoryMessageKind.DONE, EvictionDone((key(info),)).encode())
        assert lender.held_bytes == 0
        with pytest.raises(StaleSlab):
            client.read(info)
        assert (lender.view().evicted, lender.view().revoked) == (1, 0)


def test_an_eviction_without_done_is_revoked_after_a_while() -> None:
    machine = MovableMemory()
    with lending(1, memory=machine, done_within_s=0.2) as lender, client_of(lender) as client:
        info = client.map()
        evicted(machine, client, 0)
        wait_until(lambda: lender.held_bytes == 0)
        assert lender.view().revoked == 1
        for request in (lambda: client.read(info), lambda: client.write(info, content(1))):
            with pytest.raises(StaleSlab):
                request()


@pytest.mark.parametrize("length", [PAGE, LARGE_BYTES])
def test_requests_for_a_revoked_slab_are_refused_that_were_answered_before(length: int) -> None:
    """One page travels in frames, a large slab through memory of the client."""
    machine, arena = MovableMemory(), Arena()
    with (
        lending(1, memory=machine, done_within_s=0.2, slab_bytes=LARGE_BYTES) as lender,
        client_of(lender) as client,
        Connection(lender.endpoint, SECRET, client_id="device/1", arena=arena) as connection,
    ):
        info, stored, found = client.map(LARGE_BYTES), arena.empty(length), arena.empty(length)
        head = encode_page_request(info.token, info.generation, 0, length)

        def write() -> None:
            connection.request(MemoryMessageKind.WRITE_PAGES, head, (stored,))

        def read() -> None:
            connection.request(MemoryMessageKind.READ_PAGES, head, (), (found,))

        for turn in range(3):
            stored[:] = turn + 1
            write()
            read()
            assert (found == turn + 1).all()
        evicted(machine, client, 0)
        wait_until(lambda: lender.held_bytes == 0)
        for request in (write, read):
            with pytest.raises(StaleSlab):
                request()


def test_a_stopped_client_with_a_large_reply_is_cut_off_before_its_memory_is_zeroed() -> None:
    """It would read zeros as its pages otherwise."""
    machine, length = MovableMemory(), SLAB_BYTES
    with lending(1, memory=machine, done_within_s=0.2) as lender, client_of(lender) as client:
        info = client.map()
        data = content(1, SLAB_BYTES // PAGE)
        client.write(info, data)
        head = encode_page_request(info.token, info.generation, 0, length)
        over_tcp = Connection(
            lender.endpoint, SECRET, client_id="device/1", shared_memory=False, retry_for_s=0
        )
        # Nobody waits for these replies, so nothing receives them.
        calls = [over_tcp.submit(MemoryMessageKind.READ_PAGES, head) for _ in range(400)]
        evicted(machine, client, 0)
        wait_until(lambda: lender.held_bytes == 0)
        for call in calls:
            try:
                assert bytes(call.wait().payload) == data
            except (ConnectionLost, StaleSlab):
                continue
        over_tcp.close()


def test_writes_and_reads_of_many_threads_do_not_disturb_each_other(lender: Lender) -> None:
    with client_of(lender, "device/5") as client:
        infos = [client.map() for _ in range(4)]

        def use(place: int) -> None:
            for turn in range(50):
                client.write(infos[place], content(100 * place + turn))
                assert client.read(infos[place]) == content(100 * place + turn)

        threads = [threading.Thread(target=use, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [client.read(info) for info in infos] == [
            content(100 * place + 49) for place in range(4)
        ]


def test_a_message_of_another_version_is_refused(lender: Lender) -> None:
    with client_of(lender) as client, pytest.raises(BadMemoryMessage, match="version 2"):
        client.control.request(
            MemoryMessageKind.QUERY_MEM, b"\x02" + QueryMem(SLAB_BYTES).encode()[1:]
        )


def test_an_address_that_is_taken_is_told_before_memory_is_filled() -> None:
    asked = list[None]()

    def free_bytes() -> int:
        asked.append(None)
        return 0

    with lending() as lender:
        limits = PoolLimits(1 << 30, 0, SLAB_BYTES, 1)
        taken = LenderSettings(limits, port=lender.endpoint.port)
        with pytest.raises(BadInput, match="cannot listen"):
            Lender(taken, SECRET, free_bytes)
    assert not asked


def test_an_interrupt_while_memory_is_filled_ends_the_server() -> None:
    with lending() as lender:
        port = lender.endpoint.port

    def interrupted() -> int:
        raise KeyboardInterrupt

    limits = PoolLimits(1 << 30, 0, SLAB_BYTES, 1)
    with pytest.raises(KeyboardInterrupt):
        Lender(LenderSettings(limits, port=port), SECRET, interrupted)
    with lending(port=port) as lender:
        assert lender.endpoint.port == port
