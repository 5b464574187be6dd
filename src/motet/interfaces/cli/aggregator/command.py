"""`motet aggregator`: the shared pool of Aggregators of PyTorch jobs."""

from __future__ import annotations

import click

from motet.interfaces.cli.aggregator.simulate_command import simulate_pool_command
from motet.interfaces.cli.shell.group import HelpfulGroup


@click.group("aggregator", cls=HelpfulGroup, short_help="Share the aggregation of PyTorch jobs.")
def aggregator_group() -> None:
    """Aggregators: one elastic pool that aggregates the gradients of many jobs.

    \b
    Examples:
      motet aggregator simulate --trace jobs.csv --out pool
    """


aggregator_group.add_command(simulate_pool_command)
