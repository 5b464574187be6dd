"""`motet memory lend`: a lender in the foreground."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from motet.domain.errors import BadInput, Interrupted
from motet.interfaces.cli.memory.memory_metrics import show_metrics
from motet.interfaces.cli.memory.options import (
    ByteSizeType,
    memory_folder,
    secret_option,
    slab_option,
    state_dir_option,
)
from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from motet.remote_memory.core.head_room import PoolLimits
    from motet.remote_memory.device.memory_folder import MemoryFolder
    from motet.remote_memory.lender.lender import FreeMemory, Lender, LenderSettings


@click.command("lend", short_help="Lend this machine's idle memory, until Ctrl-C.")
@slab_option("Unit of lending; the same on all machines.")
@click.option(
    "--head-room",
    "head_room_bytes",
    type=ByteSizeType(),
    metavar="SIZE",
    help="Memory that stays free on this machine. Default: an eighth of it.",
)
@click.option(
    "--most", "most_bytes", type=ByteSizeType(), metavar="SIZE", help="Most memory to lend."
)
@click.option(
    "--quota",
    "quota_bytes",
    type=ByteSizeType(),
    metavar="SIZE",
    help="Most memory of one device. Default: no limit.",
)
@click.option(
    "--done-within",
    "done_within_s",
    type=click.FloatRange(0, min_open=True),
    default=3.0,
    show_default=True,
    metavar="S",
    help="Seconds that a device has to leave an evicted slab; then it is taken.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Where to listen. Other machines reach it only by an address of this machine; what leaves "
    "the machine is encrypted.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Default: that of this user's last lender, which devices know, else a free one.",
)
@click.option(
    "--metrics",
    "metrics_port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Show figures for Prometheus at http://127.0.0.1:PORT/metrics, also to other users of "
    "this machine.",
)
@secret_option
@state_dir_option
def lend_command(
    slab_bytes: int,
    head_room_bytes: int | None,
    most_bytes: int | None,
    quota_bytes: int | None,
    done_within_s: float,
    host: str,
    port: int,
    metrics_port: int | None,
    secret_file: Path | None,
    folder: Path | None,
) -> None:
    """Lend memory that nothing on this machine uses. When programs here need it, slabs are taken
    back at once, the least used ones first; borrowers keep a copy of all pages on their disks.

    \b
    Examples:
      motet memory lend --slab 64M
      motet memory lend --host 192.0.2.7 --port 7400 --most 32G
    """
    from motet.interfaces.cli.shell.process.signals import raise_on_signals
    from motet.remote_memory.device.memory_folder import write_endpoint
    from motet.remote_memory.lender.lender import LenderSettings
    from motet.runtime.spilling.machine_memory import MachineMemory
    from motet.transport import read_secret, use_short_switch_interval

    place = memory_folder(folder)
    secret = place.secret() if secret_file is None else read_secret(secret_file)
    machine = MachineMemory()
    settings = LenderSettings(
        _limits(machine.state().limit_bytes, slab_bytes, head_room_bytes, most_bytes),
        _quota_slabs(quota_bytes, slab_bytes),
        done_within_s=done_within_s,
        host=host,
        port=port,
    )
    use_short_switch_interval()
    with (
        raise_on_signals(),
        place.claim_lender(),
        _lender(place, settings, secret, lambda: machine.state().free_bytes) as lender,
    ):
        if metrics_port is not None:
            show_metrics(lender.view, metrics_port)
        write_endpoint(place.lender, lender.endpoint)
        place.keep_lender_port(lender.endpoint.port)
        view = lender.view()
        click.echo(f"lending at {lender.endpoint}")
        echo_note(
            f"{view.free_slabs} slabs of {view.slab_bytes >> 20} MiB now, until Ctrl-C; secret "
            f"{secret_file or place.secret_file}"
        )
        with suppress(Interrupted):
            threading.Event().wait()
        place.lender.unlink(missing_ok=True)


def _limits(
    total_bytes: int, slab_bytes: int, head_room_bytes: int | None, most_bytes: int | None
) -> PoolLimits:
    """Raises BadInput."""
    from motet.remote_memory.core.device_geometry import check_whole_pages
    from motet.remote_memory.core.head_room import HEAD_ROOM_SHARE, PoolLimits

    check_whole_pages("slab size", slab_bytes)
    limits = PoolLimits(
        total_bytes,
        round(total_bytes * HEAD_ROOM_SHARE) if head_room_bytes is None else head_room_bytes,
        slab_bytes,
        (total_bytes if most_bytes is None else most_bytes) // slab_bytes,
    )
    if limits.most_slabs < 1:
        raise BadInput(f"--most {most_bytes}: at least one slab of {slab_bytes} bytes")
    return limits


def _quota_slabs(quota_bytes: int | None, slab_bytes: int) -> int | None:
    """Raises BadInput."""
    if quota_bytes is not None and quota_bytes < slab_bytes:
        raise BadInput(f"--quota {quota_bytes}: at least one slab of {slab_bytes} bytes")
    return None if quota_bytes is None else quota_bytes // slab_bytes


def _lender(
    place: MemoryFolder, settings: LenderSettings, secret: bytes, free_memory: FreeMemory
) -> Lender:
    """Without a port that is given at that of the last lender, if it is free: a device goes on
    asking there. Raises BadInput."""
    from motet.remote_memory.lender.lender import Lender

    last_port = place.last_lender_port()
    if not settings.port and last_port is not None:
        with suppress(BadInput):
            return Lender(replace(settings, port=last_port), secret, free_memory)
    return Lender(settings, secret, free_memory)
