"""What `motet memory device up` prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motet.remote_memory.device.memory_folder import DevicePlace
    from motet.remote_memory.swap.swap_table import SwapUse
    from motet.transport import Endpoint


def print_device(device: DevicePlace, process: int, use: SwapUse | None, *, as_json: bool) -> None:
    """Where the device is; without swap space, how root makes it some."""
    from motet.interfaces.cli.shell.streams.results import print_json
    from motet.remote_memory.core.byte_sizes import size_text

    commands = [] if use else swap_commands(device)
    if as_json:
        document = {"name": device.name, "pid": process, "socket": str(device.socket)}
        swap = None if use is None else asdict(use)
        print_json({**document, "commands": commands, "swap": swap})
        return
    if use is not None:
        click.echo(
            f"swap space on {use.path}: {size_text(use.size_bytes)}, priority {use.priority}, "
            f"until: motet memory down {device.name}"
        )
        return
    click.echo(f"nbd+unix:///{device.name}?socket={device.socket}")
    echo_note("as root, to page to it:")
    for command in commands:
        echo_note(f"  {command}")


def note_lenders(lenders: Sequence[Endpoint], silent: Sequence[Endpoint]) -> None:
    """Which of them give no memory now: their pages are on the disk."""
    if not lenders:
        echo_note("no lender is known: pages are on the disk alone; motet memory lend, or --lender")
    for each in silent:
        echo_note(f"lender {each} does not answer; the device keeps asking")


def swap_commands(device: DevicePlace) -> list[str]:
    """What root types to make the device swap space of this machine or another one."""
    from motet.remote_memory.swap.swap_doors import nbd_client_command

    block = Path("/dev/nbd0")
    return [
        "modprobe nbd",
        " ".join(nbd_client_command(device, block)),
        f"mkswap {block}",
        f"swapon --priority 10 {block}",
    ]
