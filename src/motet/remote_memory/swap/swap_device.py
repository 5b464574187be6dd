"""A device as swap space: set up by one call, taken down by one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from motet.domain.errors import BadInput, MotetError, Unreachable
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    kill_device,
    start_device,
)
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.swap.host_programs import run_program
from motet.remote_memory.swap.swap_doors import LoopDoor, SwapDoor, door_named
from motet.remote_memory.swap.swap_table import SWAP_TABLE, SwapUse, swap_uses


@dataclass(frozen=True)
class SwapRecord:
    """What a device's folder knows of its swap space."""

    door: SwapDoor
    block: Path

    def write(self, place: DevicePlace) -> None:
        """As JSON."""
        text = json.dumps({"door": self.door.name, "block": str(self.block)})
        place.swap.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, place: DevicePlace) -> SwapRecord | None:
        """None: the device is no swap space. Raises BadInput."""
        try:
            found = json.loads(place.swap.read_text(encoding="utf-8"))
            return cls(door_named(found["door"]), Path(found["block"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{place.swap}: not the record of a swap space: {error}") from error


def swap_up(
    folder: MemoryFolder, place: DevicePlace, started: StartedDevice, door: SwapDoor, priority: int
) -> tuple[int, SwapUse]:
    """Start a device and make it swap space; undo all of it if a step fails.

    Returns the number of its process, and the swap space. Raises BadInput.
    """
    with ExitStack() as undo:
        process = start_device(folder, place, started)
        undo.callback(_quietly, lambda: end_device(folder, place))
        block = door.attach(place)
        undo.callback(_quietly, lambda: door.detach(place, block))
        SwapRecord(door, block).write(place)
        run_program("mkswap", block)
        undo.callback(_quietly, lambda: run_program("swapoff", block))
        _swap_on(block, priority)
        use = swap_uses(SWAP_TABLE.read_text(encoding="utf-8"))[str(block)]
        undo.pop_all()
    return process, use


def swap_down(folder: MemoryFolder, place: DevicePlace, *, force: bool) -> None:
    """Take the swap space of a device down, if it is one; the device itself goes on.

    A device that has ended answers with errors: programs get a bus error when they touch a page
    that it had, and the swap space ends. `force`: the same for a device that does not answer, and
    if memory has no room for its pages. Raises BadInput: without `force` it has to stay.
    """
    record = SwapRecord.read(place)
    if record is None:
        _detach_unrecorded(folder, place)
        return
    _make_answer(folder, place, record, force=force)
    if _use(record.block) is not None:
        try:
            run_program("swapoff", record.block)
        except BadInput as error:
            if not force:
                raise BadInput(
                    f"device {place.name}: its pages do not fit into memory: {error}; end programs "
                    "first, or --force: programs that need these pages get bus errors"
                ) from error
            _lose_pages(folder, place, record)
            run_program("swapoff", record.block)
    record.door.detach(place, record.block)
    place.swap.unlink()


def swap_use(place: DevicePlace) -> SwapUse | None:
    """The device's swap space as the kernel counts it; None: it is none. Raises BadInput."""
    record = SwapRecord.read(place)
    return None if record is None else _use(record.block)


def _swap_on(block: Path, priority: int) -> None:
    try:
        run_program("swapon", "--priority", priority, block)
    except BadInput as error:
        raise BadInput(
            f"{error}; the kernel refuses swap space here, and what was set up for it is removed. "
            "It needs CAP_SYS_ADMIN of the host, which containers seldom have"
        ) from error


def _make_answer(
    folder: MemoryFolder, place: DevicePlace, record: SwapRecord, *, force: bool
) -> None:
    """Without an answer, taking swap space down would wait for ever. Raises BadInput."""
    try:
        device_view(folder, place)
    except Unreachable as error:
        process = folder.process_of(place)
        if process is not None and not force:
            raise BadInput(
                f"device {place.name} (process {process}) does not answer: {error}; "
                f"kill -CONT {process} if it is stopped, or --force: programs that need its pages "
                "get bus errors"
            ) from error
        _lose_pages(folder, place, record)


def _detach_unrecorded(folder: MemoryFolder, place: DevicePlace) -> None:
    """`up` was killed before it wrote its record, so there is no swap space on the loop device."""
    door = LoopDoor()
    blocks = door.attached_to(place)
    if folder.process_of(place) is None:  # The device was killed, too.
        door.cut_off(place, Path())
    for block in blocks:
        door.detach(place, block)


def _lose_pages(folder: MemoryFolder, place: DevicePlace, record: SwapRecord) -> None:
    kill_device(folder, place)
    record.door.cut_off(place, record.block)


def _use(block: Path) -> SwapUse | None:
    return swap_uses(SWAP_TABLE.read_text(encoding="utf-8")).get(str(block))


def _quietly(step: Callable[[], object]) -> None:
    """A step back; what it cannot undo, `down` tries again."""
    with contextlib.suppress(MotetError):
        step()
