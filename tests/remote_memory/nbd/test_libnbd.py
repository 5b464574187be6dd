"""The NBD server under libnbd, after its own tests (tests/*.c and python/t of libnbd 1.14).

Each script runs in nbdsh, with `nbd` and `new()`, a handle that is not connected yet.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.nbd.nbd_server import NbdServer
from nbd_client import READ, NbdClient
from remote_memory_parts import PAGE, SLAB_BYTES, borrowing, lending
from waiting import wait_until

SLABS = 256
SIZE = SLABS * SLAB_BYTES
_BEGIN = """
import errno, os, random, threading
path, size, page = {path!r}, {size}, 4096
def new(name="swap", **without):
    handle = nbd.NBD()
    handle.set_export_name(name)
    return handle
def connected(name="swap"):
    handle = new(name)
    handle.connect_unix(path)
    return handle
def fails(call, *arguments, number=None):
    try:
        call(*arguments)
    except nbd.Error as error:
        assert number is None or error.errnum == number, error
        return
    raise AssertionError(f"{{call}} did not fail")
"""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BorrowedMemory]:
    folder = tmp_path_factory.mktemp("nbd")
    with (
        lending(SLABS // 2) as lender,
        borrowing(folder, [lender.endpoint], SLABS, is_mapped=False) as found,
    ):
        for slab in range(SLABS // 2):
            assert found.map_slab(slab)
        yield found


@pytest.fixture(scope="module")
def server(memory: BorrowedMemory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NbdServer]:
    path = tmp_path_factory.mktemp("socket") / "nbd.sock"
    with NbdServer(path, memory.store, "swap", memory.new_buffer) as found:
        yield found


def nbdsh(path: Path, script: str) -> None:
    """Run a script; its assertions are the test."""
    with _started(path, script) as running:
        out, _ = running.communicate()
    assert running.returncode == 0, out


def _started(path: Path, script: str) -> subprocess.Popen[str]:
    if shutil.which("nbdsh") is None:
        pytest.skip("needs nbdsh (tools/test_packages.sh)")
    words = ["nbdsh", "-c", _BEGIN.format(path=str(path), size=SIZE), "-c", script]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PATH": "/usr/bin:/bin"},  # The system's Python has libnbd's module.
    )


def test_options_are_answered_until_one_begins(server: NbdServer) -> None:
    """opt-list.c, opt-info.c, opt-abort.c, and python/t/2*.py."""
    nbdsh(
        server.path,
        """
h = new()
h.set_opt_mode(True)
h.connect_unix(path)
assert h.get_protocol() == "newstyle-fixed"
assert not h.get_structured_replies_negotiated()
found = []
assert h.opt_list(lambda name, text: found.append(name)) == 1
assert found == ["swap"]
fails(h.get_size)
h.opt_info()
assert h.get_size() == size
h.set_export_name("other")
fails(h.opt_info)
fails(h.opt_go)
fails(h.get_size)
h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
fails(h.opt_list_meta_context, lambda name: 0)
h.set_export_name("swap")
h.opt_go()
assert h.get_size() == size
assert not h.can_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
fails(h.opt_info)
assert len(h.pread(page, 0)) == page
h.shutdown()
h = new()
h.set_opt_mode(True)
h.connect_unix(path)
h.opt_abort()
assert h.aio_is_closed()
fails(new("x" * 4096).connect_unix, path)
""",
    )


def test_clients_with_less_than_the_fixed_handshake_are_served(server: NbdServer) -> None:
    """newstyle-limited.c."""
    nbdsh(
        server.path,
        """
for flags in (0, nbd.HANDSHAKE_FLAG_FIXED_NEWSTYLE, nbd.HANDSHAKE_FLAG_NO_ZEROES):
    h = new()
    h.set_handshake_flags(flags)
    h.connect_unix(path)
    assert h.get_size() == size
    assert len(h.pread(page, 0)) == page
    h.shutdown()
""",
    )


def test_flags_tell_what_the_device_can_do(server: NbdServer) -> None:
    """eflags.c, get-size.c."""
    nbdsh(
        server.path,
        """
h = connected()
assert h.get_size() == size
assert not h.is_read_only()
assert not h.is_rotational()
for can in (h.can_flush, h.can_fua, h.can_trim, h.can_zero, h.can_multi_conn):
    assert can()
for can in (h.can_df, h.can_cache, h.can_fast_zero):
    assert not can()
assert h.get_block_size(nbd.SIZE_MINIMUM) == page
assert h.get_block_size(nbd.SIZE_MAXIMUM) == 32 << 20
""",
    )


def test_what_was_not_announced_is_refused_and_the_connection_goes_on(server: NbdServer) -> None:
    """errors-server-*.c, errors-pread-structured.c, 460-block-status.py."""
    nbdsh(
        server.path,
        """
h = connected()
fails(h.block_status, page, 0, lambda *_: 0)
h.set_strict_mode(0)
fails(h.cache, page, 0, number=errno.EINVAL)
fails(h.pread, page, size, number=errno.EINVAL)
fails(h.pread, page, 512, number=errno.EINVAL)
fails(h.pwrite, bytes(512), 0, number=errno.EINVAL)
fails(h.pwrite, bytes(page), size, number=errno.ENOSPC)
fails(h.zero, page, size, number=errno.ENOSPC)
fails(h.trim, page, size, number=errno.EINVAL)
fails(h.zero, page, 0, nbd.CMD_FLAG_FAST_ZERO, number=errno.EINVAL)
fails(h.pread, page, 0, nbd.CMD_FLAG_DF, number=errno.EINVAL)
fails(h.pread_structured, page, 0, lambda *_: 0, nbd.CMD_FLAG_DF, number=errno.EINVAL)
fails(h.pread, 0, 0, number=errno.EINVAL)
fails(h.trim, 0, 0, number=errno.EINVAL)
h.pwrite(b"x" * page, 0, nbd.CMD_FLAG_FUA)
assert h.pread(page, 0) == b"x" * page
""",
    )


def test_requests_of_the_largest_size_pass_and_larger_ones_are_refused(server: NbdServer) -> None:
    """errors-client-oversize.c."""
    nbdsh(
        server.path,
        """
h = connected()
data = random.Random(1).randbytes(size)
h.pwrite(data, 0)
assert h.pread(size, 0) == data
h.set_strict_mode(0)
fails(h.pwrite, bytes((32 << 20) + page), 0, number=errno.EINVAL)
fails(h.pread, (32 << 20) + page, 0, number=errno.EINVAL)
assert h.pread(page, 0) == data[:page]
""",
    )


def test_zero_and_trim(server: NbdServer) -> None:
    """can-zero-flag, can-trim-flag, 580-aio-is-zero.py."""
    nbdsh(
        server.path,
        """
h = connected()
h.pwrite(b"y" * 8 * page, 0)
h.zero(2 * page, page, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)
h.trim(page, 5 * page, nbd.CMD_FLAG_FUA)
buffer = nbd.Buffer(4 * page)
h.pread_structured(4 * page, 0, lambda part, offset, status, error: None)
cookie = h.aio_pread(buffer, 0)
while not h.aio_command_completed(cookie):
    h.poll(-1)
assert buffer.is_zero(page, 2 * page)
assert bytes(buffer.to_bytearray()[:page]) == b"y" * page
""",
    )


def test_requests_in_flight_on_several_connections_keep_their_content(server: NbdServer) -> None:
    """aio-parallel.c: connections with a part of the device each, and many requests in flight."""
    nbdsh(
        server.path,
        """
connections, depth, requests = 4, 16, 400
part = size // connections // depth // page
class Slot:
    def __init__(self, connection, number, rng):
        self.first = (connection * depth + number) * part
        self.content = bytearray(part * page)
        self.rng = rng
    def begin(self, handle):
        pages = self.rng.randint(1, part)
        place = self.rng.randint(0, part - pages)
        self.range = slice(place * page, (place + pages) * page)
        offset = (self.first + place) * page
        self.is_write = self.rng.random() < 0.5
        if self.is_write:
            data = self.rng.randbytes(pages * page)
            self.content[self.range] = data
            self.buffer = nbd.Buffer.from_bytearray(data)
            self.cookie = handle.aio_pwrite(self.buffer, offset)
        else:
            self.buffer = nbd.Buffer(pages * page)
            self.cookie = handle.aio_pread(self.buffer, offset)
    def check(self):
        assert self.is_write or self.buffer.to_bytearray() == self.content[self.range]
errors = []
def serve(number):
    try:
        handle, rng = connected(), random.Random(number)
        slots = [Slot(number, each, rng) for each in range(depth)]
        for slot in slots:
            handle.pwrite(slot.content, slot.first * page)
            slot.begin(handle)
        left = requests
        while slots:
            handle.poll(-1)
            for slot in list(slots):
                if handle.aio_command_completed(slot.cookie):
                    slot.check()
                    left -= 1
                    if left >= depth:
                        slot.begin(handle)
                    else:
                        slots.remove(slot)
        handle.shutdown()
    except BaseException as error:
        errors.append(repr(error))
threads = [threading.Thread(target=serve, args=(each,)) for each in range(connections)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
""",
    )


def test_a_flush_on_one_connection_covers_writes_of_another(server: NbdServer) -> None:
    """The promise of CAN_MULTI_CONN."""
    nbdsh(
        server.path,
        """
writer, flusher, reader = connected(), connected(), connected()
for turn in range(40):
    data = bytes([turn + 1]) * (3 * page)
    writer.pwrite(data, turn * page)
    flusher.flush()
    assert reader.pread(3 * page, turn * page) == data
""",
    )


def test_a_client_that_goes_in_mid_request_leaves_nothing_behind(server: NbdServer) -> None:
    """server-death.c with the ends exchanged, and errors-multiple-disconnects.c."""
    nbdsh(
        server.path,
        """
h = connected()
for turn in range(64):
    h.aio_pwrite(nbd.Buffer.from_bytearray(b"z" * 32 * page), turn * 32 * page)
h.aio_pread(nbd.Buffer(size), 0)
del h
h = connected()
h.aio_pread(nbd.Buffer(page), 0)
h.shutdown(nbd.SHUTDOWN_ABANDON_PENDING)
fails(h.shutdown)
h = connected()
h.pwrite(b"a" * page, 0)
assert h.pread(page, 0) == b"a" * page
""",
    )
    wait_until(lambda: server.client_count == 0)
    with NbdClient(server.path) as client:
        client.go()
        assert client.call(READ, 0, PAGE) == (0, b"a" * PAGE)


def test_the_end_of_the_server_fails_what_is_in_flight(
    memory: BorrowedMemory, tmp_path: Path
) -> None:
    """server-death.c."""
    with NbdServer(tmp_path / "nbd.sock", memory.store, "swap") as server:
        begun = _started(
            server.path,
            """
h = connected()
print("connected", flush=True)
while True:
    try:
        h.pread(page, 0)
    except nbd.Error as error:
        assert error.errnum in (errno.ENOTCONN, errno.ESHUTDOWN, errno.EINVAL, None, 0), error
        break
""",
        )
        assert begun.stdout is not None
        assert begun.stdout.readline() == "connected\n"
    assert begun.wait() == 0
    begun.stdout.close()
