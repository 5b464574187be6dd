"""How a device becomes a block device, where that needs no kernel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.device.memory_folder import DevicePlace
from motet.remote_memory.nbd.nbd_server import NbdServer
from motet.remote_memory.swap.host_programs import found_program, run_program
from motet.remote_memory.swap.swap_doors import (
    door_named,
    nbd_client_command,
    unused_nbd,
    usable_door,
)
from remote_memory_parts import borrowing


def test_the_first_block_device_without_a_server_is_taken() -> None:
    assert unused_nbd([("nbd0", 8), ("nbd1", 0), ("nbd2", 0)]) == Path("/dev/nbd1")
    with pytest.raises(BadInput, match="in use; modprobe nbd nbds_max=N"):
        unused_nbd([("nbd0", 8)])


def test_the_client_never_reconnects_to_a_device_that_has_forgotten_its_pages() -> None:
    place = DevicePlace(Path("/run"), "big")
    command = nbd_client_command(place, Path("/dev/nbd3"))
    assert command[:4] == ("nbd-client", "-unix", "/run/nbd.sock", "/dev/nbd3")
    assert command[4:6] == ("-name", "big")
    assert "-persist" not in command
    assert "-swap" in command


def test_nbd_client_takes_the_command_and_agrees_with_the_device(tmp_path: Path) -> None:
    """Up to the kernel's block device, which does not exist."""
    if found_program("nbd-client") is None:
        pytest.skip("needs nbd-client (tools/test_packages.sh)")
    place, block = DevicePlace(tmp_path, "big"), tmp_path / "no-nbd0"
    with (
        borrowing(tmp_path, slabs=128) as memory,
        NbdServer(place.socket, memory.store, place.name),
    ):
        done = subprocess.run(
            nbd_client_command(place, block), capture_output=True, text=True, check=False
        )
    assert "size = 4MB" in done.stdout
    assert "Warning" not in done.stderr
    assert done.returncode


def test_without_root_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BadInput, match="swap space needs root: sudo"):
        usable_door()


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("motet.remote_memory.swap.host_programs.found_program", lambda _: None)
    with pytest.raises(BadInput, match=r"needs mkswap \(Debian: apt-get install util-linux\)"):
        usable_door()
    with pytest.raises(BadInput, match="losetup is missing"):
        run_program("losetup", "--all")


def test_what_a_program_says_is_the_error() -> None:
    with pytest.raises(BadInput, match=r"^mkswap /none/disk: cannot open /none/disk: No such"):
        run_program("mkswap", "/none/disk")


def test_doors_are_found_by_their_names() -> None:
    assert [door_named(name).name for name in ("nbd", "loop")] == ["nbd", "loop"]
    with pytest.raises(BadInput, match="no door 'x'"):
        door_named("x")
