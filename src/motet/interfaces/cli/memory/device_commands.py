"""`motet memory device up`, `status` and `down`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from motet.domain.errors import BadInput, NotFound, Unreachable
from motet.interfaces.cli.memory.cluster_status import cluster_option, show_cluster
from motet.interfaces.cli.memory.device_output import note_lenders, print_device
from motet.interfaces.cli.memory.memory_metrics import print_metrics
from motet.interfaces.cli.memory.options import (
    ByteSizeType,
    memory_folder,
    secret_option,
    state_dir_option,
)
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.process.signals import raise_on_signals
from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder

_DEFAULT = "swap"


@click.group("device", cls=HelpfulGroup, short_help="Make block devices of remote memory.")
def device_group() -> None:
    """A block device whose pages are in the memory of lenders, with a copy on the local disk.

    \b
    Example:
      motet memory device up --size 4G
    """


@device_group.command("up", short_help="Start a block device in the background.")
@click.argument("name", default=_DEFAULT)
@click.option("--size", "size_bytes", type=ByteSizeType(), required=True, metavar="SIZE")
@click.option(
    "--lender",
    "lenders",
    multiple=True,
    metavar="HOST:PORT",
    help="A lender, several times for several. Default: that of this user on this machine.",
)
@click.option(
    "--slab",
    "slab_bytes",
    type=ByteSizeType(),
    metavar="SIZE",
    help="The lenders' size of slabs. Default: what they answer, 64M if none does.",
)
@click.option(
    "--backup",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where all pages are kept on disk; created with the whole size. Default: in the state "
    "folder.",
)
@click.option(
    "--hot-slab",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    metavar="N",
    help="Pages per second from which on a slab gets a lender.",
)
@click.option(
    "--pending",
    "arena_bytes",
    type=ByteSizeType(),
    default="64M",
    show_default=True,
    metavar="SIZE",
    help="Local memory for writes that the disk does not have yet.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    metavar="N",
    help="Lenders of each slab, on different machines: with 2, no page is read from the disk after "
    "a lender has failed.",
)
@click.option(
    "--prefetch",
    is_flag=True,
    help="Read pages ahead where reads follow a trend; for backup disks that are slow to answer.",
)
@click.option(
    "--swap",
    "is_swap",
    is_flag=True,
    help="Make it swap space of this machine, as root, until 'motet memory down'.",
)
@click.option(
    "--priority",
    type=click.IntRange(0, 32767),
    default=10,
    show_default=True,
    metavar="N",
    help="Of --swap: the kernel fills swap space with a higher one first.",
)
@secret_option
@state_dir_option
@json_option()
def device_up_command(
    name: str,
    size_bytes: int,
    lenders: tuple[str, ...],
    slab_bytes: int | None,
    backup: Path | None,
    hot_slab: float,
    arena_bytes: int,
    replicas: int,
    prefetch: bool,
    is_swap: bool,
    priority: int,
    secret_file: Path | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Start the block device NAME (default: swap), which goes on until 'motet memory down'.

    With --swap the machine pages to it, through /dev/nbd or, without that, a loop device. Else it
    prints the commands, for root, that make it swap space. Without a lender that answers, the pages
    are on the disk alone.
    """
    from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
    from motet.remote_memory.core.device_geometry import DeviceGeometry
    from motet.remote_memory.device.device_start import StartedDevice, start_device
    from motet.remote_memory.device.lender_addresses import known_lenders, lender_at
    from motet.remote_memory.device.memory_lock import is_killed_last
    from motet.remote_memory.device.slab_size import ask_lenders
    from motet.remote_memory.swap.swap_device import swap_up
    from motet.remote_memory.swap.swap_doors import usable_door
    from motet.transport import read_secret

    door = usable_door() if is_swap else None
    place = memory_folder(folder)
    device = place.device(name)
    found = [*map(lender_at, lenders)] or known_lenders(place)
    lender_secret = place.secret() if secret_file is None else read_secret(secret_file)
    answers = ask_lenders(found, lender_secret, slab_bytes)
    settings = DeviceSettings(
        DeviceGeometry(size_bytes, answers.slab_bytes),
        (backup or device.backup).absolute(),
        hot_slab,
        arena_bytes,
        replicas,
        prefetch,
    )
    secret = None if secret_file is None else secret_file.absolute()
    started = StartedDevice(
        settings, tuple(found), secret, is_swap, door is not None and door.needs_file
    )
    if door is None:
        process, use = start_device(place, device, started), None
    else:
        with raise_on_signals():
            process, use = swap_up(place, device, started, door, priority)
        if not is_killed_last(process):
            echo_note(
                "CAP_SYS_RESOURCE is missing: the kernel may kill the device when memory is short, "
                "and programs that need its pages with it"
            )
    note_lenders(found, answers.silent)
    print_device(device, process, use, as_json=as_json)


@click.command("status", short_help="Show what is lent and borrowed here, or in the cluster.")
@cluster_option
@click.option(
    "--prometheus",
    "as_metrics",
    is_flag=True,
    help="Print the figures of lender and devices in the text format of Prometheus.",
)
@state_dir_option
@json_option()
def memory_status_command(
    server: str | None, as_metrics: bool, folder: Path | None, as_json: bool
) -> None:
    """Show this user's lender and devices on this machine, or what the machines of a live cluster
    lend, and which jobs borrow it."""
    if as_metrics and (as_json or server is not None):
        raise BadInput("--prometheus: without --json and --cluster; a cluster has /metrics")
    if server is not None:
        show_cluster(server, folder, as_json)
        return
    from motet.interfaces.cli.memory.screens import status_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.remote_memory.swap.local_memory import LocalMemory

    memory = LocalMemory.ask(memory_folder(folder))
    if as_metrics:
        print_metrics(memory)
    elif as_json:
        print_json(memory.document())
    else:
        document = memory.document()
        lender, problem = document["lender"], document["lender_problem"]
        print_result(status_screen(lender, problem, document["devices"]))


@click.command("down", short_help="End devices.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--force", is_flag=True, help="Also devices that are in use: their users fail.")
@state_dir_option
def memory_down_command(names: tuple[str, ...], force: bool, folder: Path | None) -> None:
    """End the devices NAME, or all. Their content is lost.

    What is in their swap space returns to memory first, which must have room for it.
    """
    place = memory_folder(folder)
    known = {each.name: each for each in place.devices()}
    for name in names:
        if name not in known:
            running = ", ".join(known) or "none"
            raise NotFound(f"there is no device {name!r:.40}; known: {running}")
    for name in names or known:
        backup = _named_backup(known[name])
        _end(place, known[name], force=force)
        if backup is not None:
            echo_note(f"{name}: its backup {backup} stays")


def _named_backup(device: DevicePlace) -> Path | None:
    """The file that the user named for the device, which may have been there before; None: none."""
    from motet.remote_memory.device.device_start import StartedDevice

    try:
        backup = StartedDevice.read(device.settings).settings.backup
    except BadInput:  # What is left of a device is removed also if it cannot be read.
        return None
    return backup if backup != device.backup and backup.exists() else None


def _end(place: MemoryFolder, device: DevicePlace, *, force: bool) -> None:
    """Raises BadInput: it is in use, or does not answer."""
    from motet.remote_memory.device.device_start import device_view, end_device, kill_device
    from motet.remote_memory.swap.swap_device import swap_down

    name = device.name
    swap_down(place, device, force=force)
    try:
        view = device_view(place, device)
    except Unreachable as error:
        process = place.process_of(device)
        if process is None:
            device.clear()
            echo_note(f"{name}: it had ended")
            return
        if not force:
            raise BadInput(
                f"device {name} (process {process}) does not answer: {error}; kill -CONT "
                f"{process} if it is stopped, or --force"
            ) from error
        kill_device(place, device)
        device.clear()
        echo_note(f"{name}: killed")
        return
    if view.clients and not force:
        raise BadInput(
            f"device {name} has {view.clients} connections; swapoff /dev/nbd0 and nbd-client "
            "-d /dev/nbd0 first, or --force"
        )
    end_device(place, device)
    echo_note(f"{name}: ended")
