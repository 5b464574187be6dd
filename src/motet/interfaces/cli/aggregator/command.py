"""`motet aggregator`: starts a pool of Aggregators, and shows what is on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.aggregator.simulate_command import simulate_pool_command
from motet.interfaces.cli.aggregator.start_command import start_pool_command
from motet.interfaces.cli.live.connection import server_option, state_option
from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from motet.interfaces.cli.aggregator.pool_source import PoolPlace

_AGGREGATOR_COLUMNS = (
    *("number", "is_running", "cycle_ns", "used_share", "jobs", "tensors", "replicas"),
    *("memory_bytes", "is_draining", "link_share"),
)
_JOB_COLUMNS = (
    *("name", "phase", "workers", "servers", "tensors", "aggregators", "steps", "iteration_ns"),
    *("alone_ns", "predicted_loss", "measured_loss", "late", "loss_limit"),
)


_POOL_WITHOUT_SERVER = "The address file of a pool that 'motet aggregator start' runs. Default: "


def _address_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--address",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=_POOL_WITHOUT_SERVER + default,
    )


def _place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--address`, `--server` and `--state-dir`; the command gets the parameter `place`."""

    @wraps(command)
    def wrapped(
        *args: Any,
        address: Path | None,
        server: str | None,
        state_folder: Path | None,
        **others: Any,
    ) -> Any:
        from motet.interfaces.cli.aggregator.pool_source import PoolPlace

        return command(*args, place=PoolPlace(address, server, state_folder), **others)

    option = _address_option(
        "that of MOTET_AGGREGATION, or of the pool of this user; without one, the pool of the "
        "server."
    )
    return option(server_option(state_option(wrapped)))


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
@_place_options
@rows_option
def list_aggregators(place: PoolPlace, row_format: str) -> None:
    """List the Aggregators of the pool, how full their cycles are, and whose tensors they have."""
    from motet.interfaces.cli.aggregator.screens import aggregators_table

    rows = _document(place)["aggregators"]
    columns = [*_AGGREGATOR_COLUMNS, *_of_server(rows, "machine", "job_ids")]
    show_rows("aggregators", rows, columns, row_format, aggregators_table)


@aggregator_group.command("jobs", short_help="List the jobs of the pool.")
@_place_options
@rows_option
def jobs_command(place: PoolPlace, row_format: str) -> None:
    """List the jobs of the pool: where their tensors are, how fast they are, what they lose."""
    from motet.interfaces.cli.aggregator.screens import pool_jobs_table

    rows = _document(place)["jobs"]
    columns = [*_JOB_COLUMNS, *_of_server(rows, "id", "job_name")]
    show_rows("jobs", rows, columns, row_format, pool_jobs_table)


@aggregator_group.command("describe", short_help="Show one Aggregator and its jobs.")
@click.argument("number", type=click.IntRange(0), metavar="N")
@_place_options
@json_option()
def describe_aggregator(number: int, place: PoolPlace, as_json: bool) -> None:
    """Show Aggregator N, and the jobs whose tensors it serves."""
    from motet.domain.errors import NotFound
    from motet.interfaces.cli.aggregator.screens import aggregator_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    document = _document(place)
    every = document["aggregators"]
    found = next((each for each in every if each["number"] == number), None)
    if found is None:
        known = ", ".join(str(each["number"]) for each in every) or "none"
        raise NotFound(f"the pool has no Aggregator {number}; it has: {known}")
    jobs = [each for each in document["jobs"] if number in each["aggregators"]]
    if as_json:
        print_json({"aggregator": found, "jobs": jobs})
    else:
        print_result(aggregator_screen(found, jobs))


@aggregator_group.command("drain", short_help="Let Aggregators leave the pool.")
@click.argument("numbers", type=click.IntRange(0), nargs=-1, required=True, metavar="N...")
@_address_option("that of MOTET_AGGREGATION, or of the pool of this user.")
def drain_aggregators(numbers: tuple[int, ...], address: Path | None) -> None:
    """Move everything on Aggregators N... to others, while the jobs train, and end them; other
    processes take their places. Returns when they have left.
    """
    from motet.aggregation.control.pool_client import PoolClient
    from motet.interfaces.cli.aggregator.default_pool import default_address
    from motet.interfaces.cli.shell.streams.visible import echo_note

    with PoolClient.find(address, default_address()) as client:
        for each in client.drain(numbers):
            echo_note(f"Aggregator {each} has left")


@aggregator_group.command("explain", short_help="Show why a job's tensors are where they are.")
@click.argument("job")
@click.option("--tensor", metavar="NAME", help="This tensor alone, and why it is nowhere else.")
@_place_options
@json_option()
def explain_job_command(job: str, tensor: str | None, place: PoolPlace, as_json: bool) -> None:
    """Show on which Aggregator each tensor of JOB is, and why. JOB is the name that its workers
    give, or the number of a job of the server.
    """
    from motet.interfaces.cli.aggregator.pool_source import pool_source
    from motet.interfaces.cli.aggregator.screens import placement_screen, tensor_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    with pool_source(place) as source:
        placement = source.explain(job)
    rows = placement["tensors"]
    if tensor is not None:
        rows = [_named(rows, tensor)]
    if as_json:
        print_json({"job": placement["job"], "tensors": rows})
    elif tensor is not None:
        print_result(tensor_screen(rows[0]))
    else:
        print_result(placement_screen(placement["job"], rows))


def _of_server(rows: list[dict[str, Any]], *names: str) -> list[str]:
    """Columns that a server adds."""
    return [name for name in names if any(name in row for row in rows)]


def _named(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Raises UnknownName."""
    from motet.domain.errors import UnknownName

    for row in rows:
        if row["name"] == name:
            return row
    raise UnknownName("tensor", name, [row["name"] for row in rows])


def _document(place: PoolPlace) -> dict[str, Any]:
    from motet.interfaces.cli.aggregator.pool_source import pool_source

    with pool_source(place) as source:
        return source.document()
