"""`motet server`: runs the master of a live cluster."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from motet.interfaces.cli.live.connection import state_option
from motet.interfaces.cli.live.policy_option import complete_live_policy
from motet.interfaces.cli.server.backup_commands import backup_command, restore_command
from motet.interfaces.cli.server.lending_options import lending_options
from motet.interfaces.cli.server.pool_options import pool_options
from motet.interfaces.cli.shell.exposure_options import exposure_options
from motet.interfaces.cli.shell.gpus_option import gpus_option
from motet.interfaces.cli.shell.port_number import PortNumber
from motet.interfaces.cli.shell.server_extra import require_server_extra
from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from motet.interfaces.server.aggregation.pool_of_server import PoolOfServer
    from motet.interfaces.server.event_log.line_formats import LogFormat
    from motet.interfaces.server.network.exposure import Exposure
    from motet.live.lent_memory.cluster_lenders import LendingOptions


@click.group(
    "server",
    invoke_without_command=True,
    short_help="Run the master of a live cluster; backups.",
)
@click.pass_context
@click.option(
    "--policy",
    metavar="P",
    shell_complete=complete_live_policy,
    help="Scheduling policy: a name, or ./mine.py. Default: the one that was in force before, at "
    "first fifo.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="K=V", help="A parameter of the policy; repeatable."
)
@click.option(
    "--cluster",
    metavar="SPEC",
    help="Machines and slots of this computer: 2x4 is two machines of four slots. Default: one "
    "machine with a slot per GPU, or per CPU core if there are no GPUs.",
)
@gpus_option
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="A Ray cluster, whose nodes are the machines: the address that `ray start` prints.",
)
@click.option(
    "--head",
    metavar="HOST[:PORT]",
    help="Start a Ray cluster with its head at this address of this machine, unless it runs; other "
    "machines join it with `motet machine join`. Default port: 6379.",
)
@click.option(
    "--lease",
    "lease_s",
    type=click.FloatRange(min=5.0),
    default=600.0,
    metavar="S",
    help="Seconds after which processes of jobs end on a machine that hears nothing from the "
    "server. Default: 600.",
)
@click.option(
    "--drain-after",
    type=click.IntRange(0),
    default=3,
    metavar="N",
    help="Failures of the infrastructure in a row after which a machine takes no further jobs; 0: "
    "never. Default: 3.",
)
@click.option(
    "--queues",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What is guaranteed to queues, and what they borrow and lend (YAML). Queues that are not "
    "in it stay as they are.",
)
@click.option(
    "--port",
    type=PortNumber(),
    default=0,
    metavar="N",
    help="Default: that of the server before, or a free one.",
)
@click.option(
    "--database",
    metavar="URL",
    help="Where the journal is kept: the path of a file, or a URL of PostgreSQL. "
    "Default: a file in --state-dir.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="Write a line per event to standard error. Default: only warnings, as text.",
)
@click.option(
    "--metrics-open",
    is_flag=True,
    help="Show /metrics without a token to all who reach the port.",
)
@click.option(
    "--keep-days",
    type=click.IntRange(1),
    metavar="N",
    help="Delete logs and checkpoints N days after the end of their job, and audit entries. "
    "Default: never.",
)
@click.option(
    "--log-limit",
    "log_limit_mb",
    type=click.IntRange(0),
    default=1024,
    metavar="MB",
    help="Room for the log of a process; once a minute the middle of a larger one is removed. "
    "0: no limit. Default: 1024.",
)
@click.option(
    "--idle-after",
    "idle_after_min",
    type=click.FloatRange(0),
    default=30.0,
    metavar="MIN",
    help="Minutes after which a job that runs and writes nothing is marked NoProgress; 0: never. "
    "Default: 30.",
)
@pool_options
@lending_options
@exposure_options
@click.option("--demo", is_flag=True, help="Submit the jobs of `motet demo`, to look around.")
@state_option
def server_command(
    context: click.Context,
    policy: str | None,
    settings: tuple[str, ...],
    cluster: str | None,
    gpus: str,
    address: str | None,
    head: str | None,
    lease_s: float,
    drain_after: int,
    queues: Path | None,
    port: int,
    database: str | None,
    log_format: LogFormat | None,
    metrics_open: bool,
    keep_days: int | None,
    log_limit_mb: int,
    idle_after_min: float,
    demo: bool,
    exposure: Exposure,
    pool: PoolOfServer | None,
    lending: LendingOptions | None,
    state_folder: Path | None,
) -> int | None:
    """Run the master: it accepts jobs, queues them under a policy, and runs them on this computer
    or on a Ray cluster.

    A killed server loses nothing: its jobs keep running, and the next server finds them.
    """
    if context.invoked_subcommand is not None:
        return None
    require_server_extra()
    from motet.interfaces.cli.server.server_start import (
        ClusterChoice,
        address_of_head,
        compiling,
        ended,
        queues_of_file,
        requested,
        started,
    )
    from motet.interfaces.demo_jobs.submitter import submit_demo_jobs
    from motet.interfaces.server.serve import serve
    from motet.live.upkeep.routine import Retention

    if head is not None:
        address, gpus = address_of_head(head, state_folder, cluster or address, gpus), "auto"
    place = ClusterChoice(cluster, address, lease_s, drain_after, gpus)
    options = requested(policy, settings, place, port, database, state_folder)
    options = replace(
        options,
        has_open_metrics=metrics_open,
        log_format=log_format,
        exposure=exposure,
        queues=queues_of_file(queues),
        retention=Retention(keep_days, log_limit_mb * 1_000_000),
        idle_after_s=idle_after_min * 60 or math.inf,
        pool=pool,
        lending=lending,
    )
    is_told = log_format != "json"  # Every line is an object then.

    def compiles(policy: str) -> None:
        if is_told:
            compiling(policy)

    def ready(url: str, policy: str) -> None:
        if is_told:
            started(url, policy, options)
        if demo:
            submit_demo_jobs(None, options.folder, policy.partition(" ")[0], echo_note)

    return serve(options, ready, ended if is_told else lambda jobs: None, compiles)


server_command.add_command(backup_command)
server_command.add_command(restore_command)
