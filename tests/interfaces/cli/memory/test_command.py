"""`motet memory`: a lender and a device as a user runs them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from lasting_port import lasting_port
from marked_process import new_motet_process
from motet.domain.errors import BadInput, NotFound
from motet.interfaces.cli.commands import motet
from motet.remote_memory.device.memory_folder import MemoryFolder, write_endpoint
from motet.transport import Endpoint
from nbd_client import READ, WRITE, NbdClient
from plain_http import NO_TLS
from remote_memory_parts import content
from swap_host import needs_root_and, only_swap_test
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: those of sockets have at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="motet-") as name:
        yield Path(name)


def run(folder: Path, *arguments: str) -> Result:
    command = ["memory", *arguments, "--state-dir", str(folder)]
    return CliRunner().invoke(motet, command, prog_name="motet")


def said(folder: Path, *arguments: str) -> str:
    result = run(folder, *arguments)
    assert result.exit_code == 0, result.exception
    return result.output


def document(folder: Path, *arguments: str) -> Any:
    result = run(folder, *arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_a_device_pages_to_a_lender_and_survives_its_end(folder: Path) -> None:
    lend = ("--slab", "1M", "--most", "8M", "--head-room", "1M")
    lender = new_motet_process("memory", "lend", *lend, "--state-dir", folder)
    assert re.fullmatch(r"lending at 127\.0\.0\.1:\d+", lender.first_line())
    up = document(folder, "device", "up", "--size", "4M", "--slab", "1M", "--hot-slab", "1")
    assert up["commands"][1].startswith(f"nbd-client -unix {up['socket']} /dev/nbd0 -name swap")
    with NbdClient(Path(up["socket"])) as client:
        client.go()

        def is_remote() -> bool:
            client.call(WRITE, 0, data=content(1, 64))
            return bool(document(folder, "status")["devices"][0]["remote_pages"])

        wait_until(is_remote)
        status = document(folder, "status")
        assert status["lender"]["mapped_slabs"] == 1
        (device,) = status["devices"]
        assert (device["name"], device["mapped_slabs"], device["clients"]) == ("swap", 1, 1)
        assert "swap" in said(folder, "status")
        metrics = said(folder, "status", "--prometheus")
        assert re.search(r'^motet_memory_slabs\{.*state="lent"\} 1\.0$', metrics, re.M)
        assert re.search(r'^motet_memory_device_up\{device="swap",.*\} 1\.0$', metrics, re.M)
        # Large enough that the lender writes it into the device's memory itself.
        assert client.call(READ, 0, len(content(1, 64))) == (0, content(1, 64))
        assert document(folder, "status")["devices"][0]["read_remote_pages"] == 64
        assert lender.end(signal.SIGINT)[0] in (0, 130)
        assert client.call(READ, 0, len(content(1, 64))) == (0, content(1, 64))
        assert isinstance(run(folder, "down").exception, BadInput)
    wait_until(lambda: not document(folder, "status")["devices"][0]["clients"])
    said(folder, "down", "swap")
    assert document(folder, "status") == {"lender": None, "lender_problem": "", "devices": []}
    assert said(folder, "status").strip() == "lends nothing"


def test_a_lender_that_was_killed_is_found_again_by_its_device(folder: Path) -> None:
    lend = ("--slab", "1M", "--most", "8M", "--head-room", "1M", "--state-dir", folder)
    killed = new_motet_process("memory", "lend", *lend, "--port", str(lasting_port()))
    address = killed.first_line()
    document(folder, "device", "up", "--size", "4M", "--slab", "1M")

    def away() -> list[str]:
        found: list[str] = document(folder, "status")["devices"][0]["away"]
        return found

    try:
        wait_until(lambda: not away())
        killed.process.kill()
        killed.process.wait()
        wait_until(away)
        again = new_motet_process("memory", "lend", *lend)
        assert again.first_line() == address
        wait_until(lambda: not away())
        other = run(folder, "lend", "--slab", "1M")
        assert "a lender of this user runs already" in str(other.exception)
        same = run(folder, "device", "up", "--size", "4M")
        assert "device 'swap' of this user runs already" in str(same.exception)
    finally:
        said(folder, "down")


def test_a_device_takes_the_size_of_slabs_of_its_lender(folder: Path) -> None:
    lend = ("--slab", "1M", "--most", "2M", "--head-room", "1M", "--state-dir", folder)
    lender = new_motet_process("memory", "lend", *lend)
    lender.first_line()
    refused = run(folder, "device", "up", "--size", "4M", "--slab", "2M")
    assert "slabs of 1048576 bytes there, 2097152 here" in str(refused.exception)
    up = run(folder, "device", "up", "--size", "4M")
    assert "lender" not in up.stderr
    assert document(folder, "status")["devices"][0]["slabs"] == 4
    said(folder, "down")


def test_a_lender_that_gives_no_memory_is_named(folder: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        up = run(folder, "device", "up", "--size", "64K", "--slab", "64K", "--lender", address)
        assert f"lender {address} does not answer" in up.stderr
        wait_until(lambda: document(folder, "status")["devices"][0]["failures"])
        told = " ".join(said(folder, "status").split())
        assert f"swap: lender {address}: no server answers" in told
        said(folder, "down")


def test_a_lender_that_does_not_answer_is_told_from_none(folder: Path) -> None:
    memory = MemoryFolder(folder)
    memory.open()
    write_endpoint(memory.lender, Endpoint("127.0.0.1", 9))  # As of a lender that was killed.
    with memory.claim_lender():
        assert said(folder, "status").strip() == f"the lender (process {os.getpid()}) starts"
        (folder / "lender.lock").write_bytes(b"")  # As before it writes its number.
        assert said(folder, "status").strip() == "the lender starts"
    with memory.claim_lender():
        write_endpoint(memory.lender, Endpoint("127.0.0.1", 9))
        assert f"the lender (process {os.getpid()}) does not answer: no" in said(folder, "status")
    assert said(folder, "status").strip() == "lends nothing"


def test_a_secret_that_is_none_is_an_error_of_status(folder: Path) -> None:
    memory = MemoryFolder(folder)
    memory.open()
    memory.secret_file.touch(mode=0o600)
    error = run(folder, "status").exception
    assert isinstance(error, BadInput)
    assert "0 bytes of secret" in str(error)


def test_a_backup_that_the_user_named_stays_and_is_told(folder: Path) -> None:
    backup = folder / "named"
    size = ("--size", "64K", "--slab", "64K")
    said(folder, "device", "up", "a", *size, "--backup", str(backup))
    assert f"a: its backup {backup} stays" in run(folder, "down", "a").stderr
    assert backup.stat().st_size == 1 << 16
    said(folder, "device", "up", "b", *size)
    assert "stays" not in run(folder, "down", "b").stderr


def test_a_lender_whose_last_port_is_taken_gets_another_one(folder: Path) -> None:
    lend = ("memory", "lend", "--slab", "1M", "--most", "1M", "--head-room", "1M")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        MemoryFolder(folder).keep_lender_port(port)
        line = new_motet_process(*lend, "--state-dir", folder).first_line()
    assert re.fullmatch(r"lending at 127\.0\.0\.1:\d+", line)
    assert not line.endswith(f":{port}")


def test_metrics_are_of_this_machine_and_are_no_json(folder: Path) -> None:
    for other in ("--json", "--cluster"):
        assert "--prometheus: without" in str(
            run(folder, "status", "--prometheus", other).exception
        )


def test_the_page_of_a_machine_is_served_until_it_is_interrupted(folder: Path) -> None:
    server = new_motet_process("memory", "web", "--port", "0", "--state-dir", folder)
    url = server.first_line()
    assert "No lender of this user answers" in httpx.get(url, verify=NO_TLS).text
    taken = run(folder, "web", "--port", url.rstrip("/").rpartition(":")[2])
    assert isinstance(taken.exception, BadInput)
    assert server.end(signal.SIGINT)[0] in (0, 130)


def test_a_device_that_died_is_shown_and_cleared_by_down(folder: Path) -> None:
    up = document(folder, "device", "up", "other", "--size", "64K", "--slab", "64K")
    os.kill(up["pid"], signal.SIGKILL)
    os.waitpid(up["pid"], 0)
    (device,) = document(folder, "status")["devices"]
    assert (device["name"], device["is_running"]) == ("other", False)
    said(folder, "down")
    assert document(folder, "status")["devices"] == []
    assert not (folder / "devices" / "other" / "backup").exists()


@pytest.fixture
def swap_host() -> Iterator[None]:
    needs_root_and("/dev/fuse", "/dev/loop-control")
    with only_swap_test():
        yield


@pytest.mark.usefixtures("swap_host")
def test_one_command_makes_swap_space_and_one_ends_it(folder: Path) -> None:
    first = run(folder, "device", "up", "--size", "4M", "--slab", "1M", "--swap", "--priority", "3")
    if isinstance(first.exception, BadInput) and "refuses swap space" in str(first.exception):
        pytest.skip(str(first.exception))
    try:
        found = re.search(
            r"^swap space on (\S+): 4M, priority 3, until: motet memory down", first.output, re.M
        )
        assert found
        (device,) = document(folder, "status")["devices"]
        assert device["swap"]["path"] == found[1]
        assert "running, 0 swapped" in said(folder, "status")
    finally:
        said(folder, "down")
    assert found[1] not in Path("/proc/swaps").read_text(encoding="ascii")
    assert document(folder, "status")["devices"] == []


@pytest.mark.soak
def test_a_stopped_device_is_told_from_one_that_has_ended(folder: Path) -> None:
    """It waits for the answer for ten seconds."""
    up = document(folder, "device", "up", "--size", "64K", "--slab", "64K")
    os.kill(up["pid"], signal.SIGSTOP)
    error = run(folder, "down").exception
    assert isinstance(error, BadInput)
    assert f"(process {up['pid']}) does not answer" in str(error)
    assert (folder / "devices" / "swap" / "backup").exists()
    assert "swap: killed" in run(folder, "down", "--force").stderr
    assert document(folder, "status")["devices"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("device", "up", "--size", "5000"), "size of 5000 bytes: give a multiple of 4096"),
        (("device", "up", "--size", "4M", "--pending", "64K"), "65536 bytes for pending writes"),
        (("device", "up", "a/b", "--size", "4M"), "letters, digits"),
        (("device", "up", "--size", "4M", "--lender", "x"), "write HOST:PORT"),
        (("lend", "--slab", "1000"), "slab size of 1000 bytes: give a multiple of 4096"),
        (("lend", "--slab", "1M", "--quota", "1K"), "--quota 1024: at least one slab of 1048576"),
    ],
)
def test_bad_input_is_told_before_anything_starts(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    error = run(folder, *arguments).exception
    assert isinstance(error, BadInput)
    assert message in str(error)
    assert document(folder, "status")["devices"] == []


def test_a_size_that_is_none_is_a_usage_error(folder: Path) -> None:
    result = run(folder, "device", "up", "--size", "many")
    assert result.exit_code == 2 or isinstance(result.exception, SystemExit)
    assert "not a size" in result.output


def test_an_unknown_device_is_not_found(folder: Path) -> None:
    error = run(folder, "down", "nothing").exception
    assert isinstance(error, NotFound)
    assert "known: none" in str(error)
