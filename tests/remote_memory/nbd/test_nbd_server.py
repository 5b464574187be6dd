"""The block device as clients see it, with a lender behind it."""

from __future__ import annotations

import os
import random
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.nbd.nbd_server import NbdServer
from nbd_client import (
    DISCONNECT,
    FLUSH,
    FUA,
    NO_HOLE,
    READ,
    TRIM,
    WRITE,
    WRITE_ZEROES,
    NbdClient,
)
from remote_memory_parts import PAGE, SLAB_BYTES, borrowing, content, lending
from waiting import wait_until

EIO, EINVAL, ENOSPC = 5, 22, 28
SIZE = 4 * SLAB_BYTES


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BorrowedMemory]:
    folder = tmp_path_factory.mktemp("nbd")
    with lending() as lender, borrowing(folder, [lender.endpoint]) as found:
        yield found


@pytest.fixture(scope="module")
def server(memory: BorrowedMemory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NbdServer]:
    path = tmp_path_factory.mktemp("socket") / "nbd.sock"
    with NbdServer(path, memory.store, "swap") as found:
        yield found


@pytest.fixture
def client(server: NbdServer) -> Iterator[NbdClient]:
    with NbdClient(server.path) as found:
        found.go(b"swap")
        yield found


def test_the_greeting_is_fixed_newstyle(server: NbdServer) -> None:
    with NbdClient(server.path) as client:
        assert client.greeting == (0x4E42444D41474943, 0x49484156454F5054, 3)
        assert client.export_name(b"swap")[0] == SIZE
        assert client.call(FLUSH) == (0, b"")


def test_what_was_written_is_read(client: NbdClient) -> None:
    data = content(1, 5)
    assert client.call(WRITE, 3 * PAGE, data=data) == (0, b"")
    assert client.call(READ, 3 * PAGE, 5 * PAGE) == (0, data)


def test_many_requests_at_once_are_all_answered(client: NbdClient) -> None:
    pages = list(range(SIZE // PAGE))
    random.Random(1).shuffle(pages)
    client.send(*(client.request(WRITE, page * PAGE, data=content(page)) for page in pages))
    assert sorted(client.reply()[0] for _ in pages) == [0] * len(pages)
    client.send(*(client.request(READ, page * PAGE, PAGE) for page in pages))
    first = client.cookie - len(pages) + 1
    for _ in pages:
        error, cookie = client.reply()
        assert (error, client.exactly(PAGE)) == (0, content(pages[cookie - first]))


def test_a_request_may_arrive_in_pieces(client: NbdClient) -> None:
    data = client.request(WRITE, 0, data=content(2, 2)) + client.request(READ, 0, 2 * PAGE)
    for start in range(0, len(data), 1000):
        client.sock.sendall(data[start : start + 1000])
    assert client.reply()[0] == 0
    assert client.reply()[0] == 0
    assert client.exactly(2 * PAGE) == content(2, 2)


def test_writes_of_one_connection_are_read_on_another(server: NbdServer) -> None:
    """The flag CAN_MULTI_CONN promises it."""
    with NbdClient(server.path) as first, NbdClient(server.path) as second:
        for each in (first, second):
            each.go()
        first.call(WRITE, 0, data=content(3))
        assert second.call(FLUSH) == (0, b"")
        assert second.call(READ, 0, PAGE) == (0, content(3))


@pytest.mark.parametrize("flags", [0, FUA])
def test_after_flush_or_fua_the_disk_has_the_write(
    client: NbdClient, memory: BorrowedMemory, flags: int
) -> None:
    client.call(WRITE, 7 * PAGE, data=content(40 + flags), flags=flags)
    if not flags:
        client.call(FLUSH)
    backup = memory.backup_path.read_bytes()
    assert backup[7 * PAGE : 8 * PAGE] == content(40 + flags)


def test_zeroes_and_trim(client: NbdClient) -> None:
    client.call(WRITE, 0, data=content(5, 6))
    assert client.call(WRITE_ZEROES, PAGE, 2 * PAGE) == (0, b"")
    assert client.call(READ, 0, 4 * PAGE) == (
        0,
        content(5, 6)[:PAGE] + bytes(2 * PAGE) + content(5, 6)[3 * PAGE : 4 * PAGE],
    )
    assert client.call(TRIM, 4 * PAGE, 2 * PAGE) == (0, b"")


@pytest.mark.parametrize(
    ("command", "offset", "length"),
    [
        (READ, SIZE, PAGE),
        (READ, 0, SIZE + PAGE),
        (READ, 1, PAGE),
        (READ, 0, 100),
        (READ, 2**64 - PAGE, PAGE),
        (TRIM, 0, SIZE + PAGE),
        (WRITE_ZEROES, PAGE // 2, PAGE),
        (99, 0, PAGE),
    ],
)
def test_requests_outside_of_the_device_or_of_pages_are_refused(
    client: NbdClient, command: int, offset: int, length: int
) -> None:
    assert client.call(command, offset, length) == (EINVAL, b"")
    assert client.call(READ, 0, PAGE)[0] == 0


def test_a_refused_write_leaves_the_stream_in_order(client: NbdClient) -> None:
    assert client.call(WRITE, 1, data=content(6)) == (EINVAL, b"")
    assert client.call(WRITE, SIZE, data=content(6)) == (ENOSPC, b"")
    assert client.call(WRITE, PAGE, data=content(6)) == (0, b"")
    assert client.call(READ, PAGE, PAGE) == (0, content(6))


def test_a_write_larger_than_announced_is_skipped_after_the_answers_before_it(
    client: NbdClient,
) -> None:
    client.call(WRITE, 0, data=content(7))
    too_large = client.request(WRITE, 0, data=bytes((32 << 20) + PAGE))
    client.send(client.request(READ, 0, PAGE), too_large, client.request(READ, 0, PAGE))
    assert client.reply()[0] == 0
    assert client.exactly(PAGE) == content(7)
    assert client.reply()[0] == EINVAL
    assert client.reply()[0] == 0
    assert client.exactly(PAGE) == content(7)


def test_a_write_beyond_all_bounds_ends_the_connection(client: NbdClient) -> None:
    client.send(client.request(WRITE, 0, length=(64 << 20) + PAGE))
    with pytest.raises(ConnectionResetError):
        client.reply()


@pytest.mark.parametrize(("command", "flags"), [(READ, 4), (WRITE_ZEROES, 16), (TRIM, 2)])
def test_flags_that_were_not_announced_are_refused(
    client: NbdClient, command: int, flags: int
) -> None:
    assert client.call(command, 0, PAGE, flags=flags) == (EINVAL, b"")
    assert client.call(WRITE_ZEROES, 0, PAGE, flags=FUA | NO_HOLE) == (0, b"")


def test_disconnect_ends_the_connection_after_all_answers(client: NbdClient) -> None:
    client.send(client.request(READ, 0, PAGE), client.request(DISCONNECT))
    assert client.reply()[0] == 0
    client.exactly(PAGE)
    with pytest.raises(ConnectionResetError):
        client.reply()


def test_only_its_user_can_open_the_socket(server: NbdServer) -> None:
    assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o600


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=300), goes_on=st.booleans())
def test_bytes_that_make_no_sense_end_one_connection_alone(
    server: NbdServer, data: bytes, goes_on: bool
) -> None:
    with NbdClient(server.path) as client:
        if goes_on:
            client.go()
        with suppress(ConnectionError):  # The server may end it before it has read all.
            client.sock.sendall(data)
            client.sock.shutdown(socket.SHUT_WR)
            while client.sock.recv(4096):
                pass
    with NbdClient(server.path) as client:
        client.go()
        assert client.call(READ, 0, PAGE)[0] == 0


def test_a_connection_that_ends_in_mid_write_leaves_nothing_behind(
    server: NbdServer, memory: BorrowedMemory
) -> None:
    with NbdClient(server.path) as client:
        client.go()
        client.send(client.request(WRITE, 0, data=content(8, 8))[:-1])
    wait_until(lambda: server.client_count == 0)
    with NbdClient(server.path) as client:
        client.go()
        assert client.call(WRITE, 0, data=content(9)) == (0, b"")
        assert client.call(READ, 0, PAGE) == (0, content(9))


def test_requests_beyond_the_buffers_are_whole(tmp_path: Path) -> None:
    """A write larger than the receive buffer, and reads that fill the room for replies."""
    data = content(10, 600)
    with borrowing(tmp_path, slabs=80, arena_bytes=600 * PAGE) as memory:
        path = tmp_path / "nbd.sock"
        with NbdServer(path, memory.store, "swap"), NbdClient(path) as client:
            client.go()
            writer = threading.Thread(
                target=client.send, args=(client.request(WRITE, 0, data=data),)
            )
            writer.start()
            assert client.reply()[0] == 0
            writer.join()
            client.send(*(client.request(READ, 0, len(data)) for _ in range(3)))
            for _ in range(3):
                assert client.reply()[0] == 0
                assert client.exactly(len(data)) == data


def test_a_path_that_is_too_long_for_a_socket_is_told(
    memory: BorrowedMemory, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="cannot make a socket there"):
        NbdServer(tmp_path / ("x" * 120), memory.store, "swap")
