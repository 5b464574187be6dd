"""Swap space on a device: set up, in use, taken down, and when a step or the device fails.

The kernel, its loop devices and memory groups are real ones.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from marked_process import new_motet_process
from motet.domain.errors import BadInput
from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    start_device,
)
from motet.remote_memory.device.lender_addresses import known_lenders
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.swap import swap_device
from motet.remote_memory.swap.host_programs import run_program
from motet.remote_memory.swap.swap_device import swap_down, swap_up, swap_use
from motet.remote_memory.swap.swap_doors import LoopDoor
from motet.remote_memory.swap.swap_table import SWAP_TABLE, SwapUse, swap_uses
from soak_cases import others_in_soak
from swap_host import HungryProgram, limited_group, needs_root_and, only_swap_test
from waiting import wait_until

MIB = 1 << 20
SIZE, LIMIT, HUNGER = 128 * MIB, 32 * MIB, 96 * MIB
PRIORITY = 32767  # Whatever other swap space the machine has.


@pytest.fixture
def folder() -> Iterator[MemoryFolder]:
    needs_root_and("/dev/fuse", "/dev/loop-control")
    with only_swap_test(), tempfile.TemporaryDirectory(prefix="motet-") as name:
        found = MemoryFolder(Path(name) / "memory")
        found.secret()
        yield found


@pytest.fixture
def place(folder: MemoryFolder) -> Iterator[DevicePlace]:
    """A place whose device, swap space and loop device are gone afterwards."""
    found = folder.device("swap")
    yield found
    swap_down(folder, found, force=True)
    if folder.process_of(found) is not None:
        end_device(folder, found)
    assert str(found.file) not in run_program("losetup", "--all")


def up(folder: MemoryFolder, place: DevicePlace, size: int = SIZE) -> tuple[int, SwapUse]:
    settings = DeviceSettings(DeviceGeometry(size, 4 * MIB), place.backup, 1.0)
    lenders = tuple(known_lenders(folder))
    started = StartedDevice(settings, lenders, is_swap=True, has_file=True)
    try:
        return swap_up(folder, place, started, LoopDoor(), PRIORITY)
    except BadInput as error:
        if "the kernel refuses swap space here" in str(error):
            pytest.skip(str(error))
        raise


def all_swaps() -> dict[str, SwapUse]:
    return swap_uses(SWAP_TABLE.read_text(encoding="utf-8"))


def test_one_call_sets_swap_space_up_and_one_takes_it_down(
    folder: MemoryFolder, place: DevicePlace
) -> None:
    before = all_swaps()
    process, use = up(folder, place, 8 * MIB)
    assert use.priority == PRIORITY
    assert use.size_bytes == pytest.approx(8 * MIB, abs=8192)
    assert swap_use(place) == use
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    (locked,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmLck"))
    assert int(locked) > 0
    swap_down(folder, place, force=False)
    assert swap_use(place) is None
    assert all_swaps() == before
    assert device_view(folder, place).name == "swap"
    end_device(folder, place)
    assert not place.file.exists()


@pytest.mark.parametrize("program", others_in_soak(["losetup", "mkswap", "swapon"], ["swapon"]))
def test_a_step_that_fails_undoes_those_before_it(
    folder: MemoryFolder, place: DevicePlace, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str, *arguments: object) -> str:
        if name == program and "--detach" not in arguments:
            raise BadInput(f"{name}: Operation not permitted")
        return run_program(name, *arguments)

    monkeypatch.setattr(swap_device, "run_program", run)
    monkeypatch.setattr("motet.remote_memory.swap.swap_doors.run_program", run)
    before = all_swaps()
    settings = DeviceSettings(DeviceGeometry(8 * MIB, 4 * MIB), place.backup)
    started = StartedDevice(settings, (), is_swap=True, has_file=True)
    with pytest.raises(BadInput, match=f"{program}: Operation not permitted"):
        swap_up(folder, place, started, LoopDoor(), PRIORITY)
    assert all_swaps() == before
    assert folder.process_of(place) is None
    assert folder.devices() == []


@pytest.mark.parametrize("device", others_in_soak(["running", "killed"], ["running"]))
def test_a_loop_device_of_an_up_that_was_killed_before_its_record_is_detached(
    folder: MemoryFolder, place: DevicePlace, device: str
) -> None:
    settings = DeviceSettings(DeviceGeometry(8 * MIB, 4 * MIB), place.backup)
    process = start_device(folder, place, StartedDevice(settings, (), has_file=True))
    block = LoopDoor().attach(place)
    assert LoopDoor().attached_to(place) == [block]
    if device == "killed":
        os.kill(process, signal.SIGKILL)
        folder.await_end(place)
    swap_down(folder, place, force=False)
    assert str(place.file) not in run_program("losetup", "--all")
    assert not (Path("/sys/block") / block.name / "loop").exists()


@pytest.mark.soak
def test_a_program_beyond_its_memory_finds_its_content_in_remote_memory(
    folder: MemoryFolder, place: DevicePlace
) -> None:
    lend = ("--slab", "4M", "--most", "256M", "--head-room", "1M")
    lender = new_motet_process("memory", "lend", *lend, "--state-dir", folder.path)
    lender.first_line()
    up(folder, place)
    wait_until(lambda: not device_view(folder, place).away)
    with limited_group(LIMIT) as group, HungryProgram(group, HUNGER // 4096) as program:
        use = swap_use(place)
        assert use is not None
        assert use.used_bytes >= HUNGER - 2 * LIMIT
        wrong, faults = program.check()
        view = device_view(folder, place)
    assert wrong == 0
    assert faults > 1000
    assert view.read_remote_pages > 1000
    assert view.mapped_slabs > 0
    swap_down(folder, place, force=False)
    lender.end(signal.SIGINT)


@pytest.mark.soak
def test_taking_down_brings_the_pages_back_to_their_program(
    folder: MemoryFolder, place: DevicePlace
) -> None:
    up(folder, place)
    with limited_group(LIMIT) as group, HungryProgram(group, HUNGER // 4096) as program:
        for name in ("memory.limit_in_bytes", "memory.max"):
            if (group / name).exists():
                (group / name).write_text(str(4 * HUNGER), encoding="ascii")
        swap_down(folder, place, force=False)
        assert swap_use(place) is None
        assert program.check()[0] == 0


@pytest.mark.soak
def test_a_killed_device_ends_programs_that_need_its_pages_and_leaves_nothing_hanging(
    folder: MemoryFolder, place: DevicePlace
) -> None:
    process, _ = up(folder, place)
    with limited_group(LIMIT) as group, HungryProgram(group, HUNGER // 4096) as program:
        os.kill(process, signal.SIGKILL)
        program.go_on()
        assert program.process.wait() == -signal.SIGBUS
    swap_down(folder, place, force=False)
    assert swap_use(place) is None


@pytest.mark.soak
def test_a_stopped_device_is_taken_down_only_by_force(
    folder: MemoryFolder, place: DevicePlace
) -> None:
    process, _ = up(folder, place)
    with limited_group(LIMIT) as group, HungryProgram(group, HUNGER // 4096) as program:
        os.kill(process, signal.SIGSTOP)
        with pytest.raises(BadInput, match=f"does not answer.*kill -CONT {process}"):
            swap_down(folder, place, force=False)
        assert swap_use(place) is not None
        swap_down(folder, place, force=True)
        assert swap_use(place) is None
        program.go_on()
        assert program.process.wait() == -signal.SIGBUS
