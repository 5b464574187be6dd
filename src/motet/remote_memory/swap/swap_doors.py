"""How a device becomes a block device of the kernel: /dev/nbd, or a loop device on a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from motet.domain.errors import BadInput
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.device.memory_folder import DevicePlace
from motet.remote_memory.fuse.file_mount import abort_mount
from motet.remote_memory.fuse.fuse_file import FUSE_DEVICE
from motet.remote_memory.swap.host_programs import found_program, require_root_and, run_program

_SWAP_PROGRAMS = ("mkswap", "swapon", "swapoff")
_BLOCK_DEVICES = Path("/sys/block")


class SwapDoor(Protocol):
    """One way to make a block device of a device that runs."""

    @property
    def name(self) -> str:
        """In the record of the swap space."""
        ...

    @property
    def programs(self) -> tuple[str, ...]:
        """What it needs of the host."""
        ...

    @property
    def needs_file(self) -> bool:
        """Whether the device must be a file."""
        ...

    def attach(self, place: DevicePlace) -> Path:
        """The block device. Raises BadInput."""
        ...

    def detach(self, place: DevicePlace, block: Path) -> None:
        """The block device has no swap space any more. Raises BadInput."""
        ...

    def cut_off(self, place: DevicePlace, block: Path) -> None:
        """Requests that the device does not answer fail from now on."""
        ...


class LoopDoor:
    """A loop device on the device's file, without the page cache between them."""

    name = "loop"
    programs = ("losetup",)
    needs_file = True

    def attach(self, place: DevicePlace) -> Path:
        """See SwapDoor."""
        block = Path(
            run_program(
                *("losetup", "--find", "--show", "--direct-io=on"),
                *("--sector-size", PAGE_BYTES, place.file),
            )
        )
        direct = _BLOCK_DEVICES / block.name / "loop" / "dio"
        if direct.read_text(encoding="ascii").strip() != "1":
            self.detach(place, block)
            raise BadInput(
                f"{block}: no direct I/O to {place.file}: its page cache would fill the memory "
                "that is short; this kernel needs /dev/nbd (modprobe nbd)"
            )
        return block

    def detach(self, place: DevicePlace, block: Path) -> None:
        """See SwapDoor."""
        del place
        run_program("losetup", "--detach", block)

    def attached_to(self, place: DevicePlace) -> list[Path]:
        """The loop devices on the device's file, while it is mounted."""
        file = str(place.path.resolve() / place.file.name)
        return [
            Path("/dev") / path.parents[1].name
            for path in sorted(_BLOCK_DEVICES.glob("loop*/loop/backing_file"))
            if _line_of(path) == file
        ]

    def cut_off(self, place: DevicePlace, block: Path) -> None:
        """See SwapDoor."""
        del block
        with contextlib.suppress(OSError):
            abort_mount(place.file)


class NbdDoor:
    """A network block device of the kernel."""

    name = "nbd"
    programs = ("nbd-client",)
    needs_file = False

    def attach(self, place: DevicePlace) -> Path:
        """See SwapDoor."""
        block = unused_nbd(_nbd_sizes())
        run_program(*nbd_client_command(place, block))
        return block

    def detach(self, place: DevicePlace, block: Path) -> None:
        """See SwapDoor."""
        del place
        run_program("nbd-client", "-d", block)

    def cut_off(self, place: DevicePlace, block: Path) -> None:
        """See SwapDoor."""
        with contextlib.suppress(BadInput):
            self.detach(place, block)


DOORS: tuple[SwapDoor, ...] = (NbdDoor(), LoopDoor())


def usable_door() -> SwapDoor:
    """The best door of this host. Raises BadInput: there is none, or programs are missing."""
    require_root_and(_SWAP_PROGRAMS)
    if _nbd_sizes() and found_program("nbd-client"):
        return DOORS[0]
    if not FUSE_DEVICE.exists():
        raise BadInput(
            f"this host has neither /dev/nbd0 with nbd-client nor {FUSE_DEVICE}: modprobe nbd or "
            f"modprobe fuse; in a container add --device {FUSE_DEVICE} and CAP_SYS_ADMIN"
        )
    require_root_and(DOORS[1].programs)
    return DOORS[1]


def door_named(name: str) -> SwapDoor:
    """Raises BadInput."""
    for door in DOORS:
        if door.name == name:
            return door
    raise BadInput(f"no door {name!r:.40}")


def nbd_client_command(place: DevicePlace, block: Path) -> tuple[str, ...]:
    """A device that ended has forgotten its pages, so nothing reconnects to another one."""
    return (
        *("nbd-client", "-unix", str(place.socket), str(block), "-name", place.name),
        *("-b", str(PAGE_BYTES), "-timeout", "0", "-swap"),
    )


def unused_nbd(sizes: Iterable[tuple[str, int]]) -> Path:
    """A network block device that no server serves, from names and sizes. Raises BadInput."""
    for name, size in sizes:
        if not size:
            return Path("/dev") / name
    raise BadInput("all of /dev/nbd* are in use; modprobe nbd nbds_max=N allows more")


def _line_of(path: Path) -> str:
    """Empty: the loop device was detached meanwhile."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    except OSError:
        return ""


def _nbd_sizes() -> list[tuple[str, int]]:
    return [
        (path.parent.name, int(path.read_text(encoding="ascii")))
        for path in sorted(_BLOCK_DEVICES.glob("nbd*/size"))
    ]
