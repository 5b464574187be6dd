"""`motet aggregator start`: a pool in the foreground."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from motet.aggregation.rule_defaults import LOSS_LIMIT, ON_DEMAND, PERIOD_S
from motet.domain.errors import Interrupted
from motet.interfaces.cli.shell.streams.visible import echo_note


@click.command("start", short_help="Start a pool, until Ctrl-C.")
@click.option(
    "--most",
    type=click.IntRange(1),
    metavar="N",
    help="Most Aggregators that serve tensors. Jobs that could need more are refused. Default: the "
    "CPU cores of this machine.",
)
@click.option(
    "--loss-limit",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=LOSS_LIMIT,
    show_default=True,
    metavar="X",
    help="Share of its speed that no job may lose to others.",
)
@click.option(
    "--period",
    "period_s",
    type=click.FloatRange(1),
    default=PERIOD_S,
    show_default=True,
    metavar="S",
    help="Seconds between two changes that no job asked for: Aggregators that can be spared, new "
    "profiles.",
)
@click.option(
    "--on-demand",
    type=click.IntRange(0),
    default=ON_DEMAND,
    show_default=True,
    metavar="N",
    help="Jobs that need N new Aggregators or fewer wait for the end of the period on those of "
    "their measurement.",
)
@click.option(
    "--bandwidth",
    metavar="B",
    help="Bandwidth of the link of an Aggregator, such as 10gbit: no Aggregator gets more traffic "
    "than that. Default: links are not counted.",
)
@click.option(
    "--state-dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Addresses, secrets and log; a folder of this user alone. Default: one of this user.",
)
def start_pool_command(
    most: int | None,
    loss_limit: float,
    period_s: float,
    on_demand: int,
    bandwidth: str | None,
    folder: Path | None,
) -> None:
    """Start a pool of Aggregators on this machine and keep it until Ctrl-C. It begins without
    Aggregators: they come and go with the jobs.

    \b
    Example:
      motet aggregator start &
      export MOTET_AGGREGATION=...     # as it prints
      python train.py                  # uses motet.torch.attach, or join_pool
    """
    from motet.aggregation.master.processes.pool import LocalPool
    from motet.aggregation.master.processes.pool_folder import PoolFolder
    from motet.aggregation.master.processes.pool_settings import PoolSettings
    from motet.aggregation.wire.pool_address import ADDRESS_VARIABLE
    from motet.interfaces.cli.aggregator.default_pool import default_pool_folder
    from motet.interfaces.cli.shell.option_types import link_rate
    from motet.interfaces.cli.shell.process.signals import raise_on_signals

    most = most or os.cpu_count() or 1
    link_bps = link_rate(bandwidth)
    settings = PoolSettings(most, loss_limit, period_s, on_demand, link_bps=link_bps)
    place = PoolFolder((folder or default_pool_folder()).absolute())
    with raise_on_signals(), LocalPool(place, settings) as pool:
        click.echo(f"export {ADDRESS_VARIABLE}={place.address}")
        echo_note(f"at most {settings.most_aggregators} Aggregators, until Ctrl-C; log {place.log}")
        with suppress(Interrupted):
            pool.wait()
