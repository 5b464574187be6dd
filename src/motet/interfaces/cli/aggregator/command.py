"""`motet aggregator`: starts a pool of Aggregators, and shows what is on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from motet.interfaces.cli.aggregator.simulate_command import simulate_pool_command
from motet.interfaces.cli.aggregator.start_command import start_pool_command
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from motet.aggregation.wire.pool_views import PoolView

_Command = TypeVar("_Command", bound=Callable[..., Any])

_AGGREGATOR_COLUMNS = (
    *("number", "is_running", "cycle_ns", "used_share", "jobs", "tensors", "replicas"),
    "memory_bytes",
)
_JOB_COLUMNS = (
    *("name", "phase", "workers", "servers", "tensors", "aggregators", "steps", "iteration_ns"),
    *("alone_ns", "predicted_loss", "measured_loss", "late"),
)


def _address_option(command: _Command) -> _Command:
    option = click.option(
        "--address",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The address file of the pool. Default: that of MOTET_AGGREGATION, or of the pool of "
        "this user.",
    )
    return option(command)


@click.group(
    "aggregator", cls=HelpfulGroup, short_help="Run Aggregators that many PyTorch jobs share."
)
def aggregator_group() -> None:
    """A pool of Aggregators: processes that sum the gradients of many training jobs and run their
    optimizers, instead of parameter servers or all-reduce in each job.

    \b
    Examples:
      motet aggregator start
      motet aggregator list
      motet aggregator simulate --trace jobs.csv --out pool
    """


aggregator_group.add_command(start_pool_command)
aggregator_group.add_command(simulate_pool_command)


@aggregator_group.command("list", short_help="List the Aggregators of the pool.")
@_address_option
@rows_option
def list_aggregators(address: Path | None, row_format: str) -> None:
    """List the Aggregators of the pool, how full their cycles are, and whose tensors they have."""
    from motet.interfaces.cli.aggregator.screens import aggregators_table

    rows = [_row(each) for each in _view(address).aggregators]
    show_rows("aggregators", rows, _AGGREGATOR_COLUMNS, row_format, aggregators_table)


@aggregator_group.command("jobs", short_help="List the jobs of the pool.")
@_address_option
@rows_option
def jobs_command(address: Path | None, row_format: str) -> None:
    """List the jobs of the pool: where their tensors are, how fast they are, what they lose."""
    from motet.interfaces.cli.aggregator.screens import pool_jobs_table

    rows = [_row(each) for each in _view(address).jobs]
    show_rows("jobs", rows, _JOB_COLUMNS, row_format, pool_jobs_table)


@aggregator_group.command("describe", short_help="Show one Aggregator and its jobs.")
@click.argument("number", type=click.IntRange(0), metavar="N")
@_address_option
@json_option()
def describe_aggregator(number: int, address: Path | None, as_json: bool) -> None:
    """Show Aggregator N, and the jobs whose tensors it serves."""
    from motet.domain.errors import NotFound
    from motet.interfaces.cli.aggregator.screens import aggregator_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    view = _view(address)
    found = next((each for each in view.aggregators if each.number == number), None)
    if found is None:
        known = ", ".join(str(each.number) for each in view.aggregators) or "none"
        raise NotFound(f"the pool has no Aggregator {number}; it has: {known}")
    jobs = [_row(each) for each in view.jobs if number in each.aggregators]
    if as_json:
        print_json({"aggregator": _row(found), "jobs": jobs})
    else:
        print_result(aggregator_screen(_row(found), jobs))


@aggregator_group.command("explain", short_help="Show why a job's tensors are where they are.")
@click.argument("job")
@click.option("--tensor", metavar="NAME", help="This tensor alone, and why it is nowhere else.")
@_address_option
@json_option()
def explain_job_command(job: str, tensor: str | None, address: Path | None, as_json: bool) -> None:
    """Show on which Aggregator each tensor of JOB is, and why."""
    from motet.interfaces.cli.aggregator.pool_client import PoolClient
    from motet.interfaces.cli.aggregator.screens import placement_screen, tensor_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    with PoolClient.find(address) as client:
        placement = client.explain(job)
    rows = [_row(each) for each in placement.tensors]
    if tensor is not None:
        rows = [_named(rows, tensor)]
    if as_json:
        print_json({"job": _row(placement.job), "tensors": rows})
    elif tensor is not None:
        print_result(tensor_screen(rows[0]))
    else:
        print_result(placement_screen(_row(placement.job), rows))


def _named(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Raises UnknownName."""
    from motet.domain.errors import UnknownName

    for row in rows:
        if row["name"] == name:
            return row
    raise UnknownName("tensor", name, [row["name"] for row in rows])


def _view(address: Path | None) -> PoolView:
    from motet.interfaces.cli.aggregator.pool_client import PoolClient

    with PoolClient.find(address) as client:
        return client.describe()


def _row(view: Any) -> dict[str, Any]:
    """A view as a document: tuples are lists, as JSON and YAML have them."""
    from dataclasses import asdict

    fields = asdict(view).items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields}
