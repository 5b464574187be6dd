"""The block device under the tools of others: libnbd's, QEMU's and fio."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.remote_memory.nbd.nbd_server import NbdServer
from remote_memory_parts import PAGE, SLAB_BYTES, borrowing, content, lending

SLABS = 64


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A device of 2 MB, three quarters of which have a lender."""
    folder = tmp_path_factory.mktemp("nbd")
    with (
        lending(3 * SLABS // 4) as lender,
        borrowing(folder, [lender.endpoint], SLABS, is_mapped=False) as memory,
    ):
        for slab in range(3 * SLABS // 4):
            assert memory.map_slab(slab)
        path = folder / "nbd.sock"
        with NbdServer(path, memory.store, "swap"):
            yield f"nbd+unix:///swap?socket={path}"


def tool(name: str, *arguments: object) -> str:
    """Run a program; what it prints. Its absence is a skip."""
    if shutil.which(name) is None:
        pytest.skip(f"needs {name} (tools/test_packages.sh)")
    done = subprocess.run([name, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nbdinfo_finds_the_size_and_what_the_device_can_do(uri: str) -> None:
    (export,) = json.loads(tool("nbdinfo", "--json", uri))["exports"]
    assert export["export-size"] == SLABS * SLAB_BYTES
    can = ("flush", "fua", "multi_conn", "trim", "zero")
    assert [export[f"can_{each}"] for each in can] == [True] * len(can)
    assert export["block_size_minimum"] == PAGE
    assert not export["is_read_only"]


def test_nbdcopy_brings_back_what_it_wrote(uri: str, tmp_path: Path) -> None:
    """It uses several connections."""
    (tmp_path / "in").write_bytes(content(1, SLABS * SLAB_BYTES // PAGE))
    tool("nbdcopy", tmp_path / "in", uri)
    tool("nbdcopy", uri, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()


@pytest.mark.soak
def test_qemu_finds_no_difference(uri: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(content(2, SLABS * SLAB_BYTES // PAGE))
    tool("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", tmp_path / "in", uri)
    found = tool("qemu-img", "compare", "-f", "raw", "-F", "raw", tmp_path / "in", uri)
    assert "Images are identical" in found


@pytest.mark.soak
def test_fio_verifies_what_it_wrote(uri: str, tmp_path: Path) -> None:
    out = tool(
        "fio",
        *("--name=verify", "--ioengine=nbd", f"--uri={uri}", "--rw=randwrite"),
        *("--bsrange=4k-128k", "--blockalign=4k", "--iodepth=16", f"--size={SLABS * SLAB_BYTES}"),
        *("--verify=crc32c", "--do_verify=1", "--verify_fatal=1", f"--aux-path={tmp_path}"),
        "--output-format=json",
    )
    (job,) = json.loads(out[out.index("{") :])["jobs"]
    assert job["error"] == 0
    assert job["read"]["total_ios"] > 0
