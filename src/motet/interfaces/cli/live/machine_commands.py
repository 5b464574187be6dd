"""`motet machine`: the machines of the live cluster; join, drain and resume."""

from __future__ import annotations

import socket
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.live.connection import state_option, with_client
from motet.interfaces.cli.live.server_names import machine_argument
from motet.interfaces.cli.shell.gpus_option import gpus_option
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows
from motet.interfaces.server_address import default_server_folder

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient
    from motet.report.turns.machine_turns import MachineTurns


_COLUMNS = (
    *("name", "slots", "used_slots", "state", "jobs", "gpus", "cpus", "memory_bytes"),
    *("failures_in_a_row", "drain"),
)


@click.group("machine", cls=HelpfulGroup, short_help="List, join, drain and resume machines.")
def machine_command() -> None:
    """The machines of the live cluster."""


@machine_command.command("list", short_help="List the machines and what runs on them.")
@rows_option
@with_client
def list_machines(client: LiveClient, row_format: str) -> None:
    """List the machines of the live cluster."""
    _print(client.machines(), row_format)


@machine_command.command("subtasks", short_help="Show what jobs that share machines do.")
@machine_argument(is_many=True)
@click.option(
    "--seconds",
    type=click.FloatRange(0, 60, min_open=True),
    default=1.0,
    show_default=True,
    help="How much of the record, up to its end.",
)
@click.option(
    "--png",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a picture there.",
)
@json_option()
@with_client
def show_subtasks(
    client: LiveClient, names: tuple[str, ...], seconds: float, png: Path | None, as_json: bool
) -> None:
    """Show the subtasks of jobs that share machines, under --policy harmony: which job computed and
    which one communicated, from the record of the turns that they took.

    Without NAME, of all machines. A job that is alone on a machine takes no turns.
    """
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.report.turns.machine_turns import MachineTurns

    chosen = names or tuple(each["name"] for each in client.machines())
    documents = [client.machine_subtasks(name, seconds) for name in chosen]
    machines = [MachineTurns.from_dict(each) for each in documents]
    if png is not None:
        _write_turns([each for each in machines if each.turns], png)
    if as_json:
        print_json({"machines": documents})
        return
    from motet.report.turns.text import TurnsScreen

    for each in machines:
        print_result(TurnsScreen(each))


def _write_turns(machines: list[MachineTurns], path: Path) -> None:
    """Raises BadInput."""
    from motet.report.turns.figure import write_turns_figure

    if not machines:
        raise BadInput("--png: no job has shared a machine, so there is nothing to draw")
    try:
        write_turns_figure(machines, path)
    except OSError as error:
        raise BadInput(f"--png {path}: {error.strerror}") from error
    click.echo(f"picture  {path}", err=True)


@machine_command.command("join", short_help="Offer this machine to the live cluster.")
@click.option("--name", metavar="NAME", help="Default: the name of the host.")
@click.option(
    "--slots",
    type=click.IntRange(1),
    metavar="N",
    help="Default: a slot per GPU, or per CPU core if there are no GPUs.",
)
@gpus_option
@state_option
def join_cluster(name: str | None, slots: int | None, gpus: str, state_folder: Path | None) -> None:
    """Offer this machine to the live cluster of a server that was started with --head, until
    Ctrl-C.

    --state-dir is that of the server, on storage that all machines share.
    """
    from motet.interfaces.cli.shell.process.signals import raise_on_signals
    from motet.interfaces.ray_nodes.node_process import OfferedNode, joined_node, stay_joined

    folder = (state_folder or default_server_folder()).absolute()
    offered = OfferedNode.of(name or socket.gethostname(), slots, gpus)
    with raise_on_signals():
        node = joined_node(folder, offered)
        log = f"{folder}/ray-{offered.name}.log"
        click.echo(f"{offered.name} joins with {offered.told}, until Ctrl-C; log {log}", err=True)
        stay_joined(node)


@machine_command.command("leave", short_help="End the cluster that `motet server --head` started.")
@state_option
def leave_cluster(state_folder: Path | None) -> None:
    """End the head of the cluster on this machine: all its machines leave, and their jobs wait."""
    from motet.interfaces.ray_nodes.node_process import end_head

    folder = (state_folder or default_server_folder()).absolute()
    if not end_head(folder):
        raise BadInput(f"{folder}: no head of a cluster runs on this machine")
    click.echo("the head has ended; its machines leave", err=True)


@machine_command.command("drain", short_help="Let a machine take no further jobs.")
@machine_argument()
@click.option("--reason", required=True, metavar="TEXT", help="For all who see the machine.")
@click.option(
    "--at",
    metavar="TIME",
    help="From then on: 18:30, or 2026-12-01T08:00. Default: at once.",
)
@rows_option
@with_client
def drain_machine(
    client: LiveClient, name: str, reason: str, at: str | None, row_format: str
) -> None:
    """Let a machine take no further jobs; those that it has run on.

    The machine is free for maintenance when `motet machine list` shows it as DRAINED.
    """
    from motet.interfaces.api_access.given_moments import coming_moment

    now = datetime.now().astimezone()
    when = None if at is None else coming_moment("--at", at, now).isoformat()
    _print([client.drain_machine(name, reason, when)], row_format)


@machine_command.command("resume", short_help="Let a drained machine take jobs again.")
@machine_argument()
@rows_option
@with_client
def resume_machine(client: LiveClient, name: str, row_format: str) -> None:
    """Let a drained machine take jobs again, or cancel a planned drain."""
    _print([client.resume_machine(name)], row_format)


def _print(machines: list[dict[str, Any]], row_format: str) -> None:
    from motet.interfaces.cli.live.screens import machines_table

    show_rows("machines", machines, _COLUMNS, row_format, machines_table)
