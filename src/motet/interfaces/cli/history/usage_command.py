"""`motet usage`: who used the live cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.row_formats import rows_option, show_rows

if TYPE_CHECKING:
    from rich.table import Table

    from motet.interfaces.client import LiveClient

_KEYS = ("user", "queue", "month")
_NUMBERS = ("jobs", "started", "slot_hours", "mean_wait_s", "median_wait_s", "preemptions")
_BORROWED = "borrowed_gb_hours"


@click.command("usage", short_help="Show who used the live cluster.")
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(_KEYS),
    help="A row per user, queue or month; repeatable. Default: all three.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="From then on: 7d, or 2026-12-01T08:00. Default: all.",
)
@click.option("--csv", "as_csv", is_flag=True, help="The same as '-o csv'.")
@rows_option
@with_client
def usage_command(
    client: LiveClient, by: tuple[str, ...], since: str | None, as_csv: bool, row_format: str
) -> None:
    """Sum up slot-hours, jobs, waits, preemptions and borrowed memory, by user, queue and month
    (UTC).

    Slot-hours count in the month in which the slots were held, jobs and their waits until the
    first slots in that of the submission.
    """
    from motet.interfaces.api_access.given_moments import past_moment
    from motet.interfaces.cli.shell.streams.results import print_json

    if as_csv and row_format not in ("table", "csv"):
        raise click.UsageError(f"--csv -o {row_format}: give one of the two")
    row_format = "csv" if as_csv else row_format
    begin = None
    if since is not None:
        begin = past_moment("--since", since, datetime.now().astimezone()).isoformat()
    found = client.usage(by, begin)
    if row_format == "json":
        print_json(found)
        return
    columns = (*found["by"], *_NUMBERS, _BORROWED)
    show_rows("rows", found["rows"], columns, row_format, partial(_table, found["by"]))


def _table(by: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from motet.insight.expected_start import rough_words
    from motet.interfaces.cli.shell.streams.visible import visible_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for key in by:
        table.add_column(key.upper())
    for title in ("JOBS", "STARTED", "SLOT-HOURS", "MEAN WAIT", "MEDIAN WAIT", "PREEMPTIONS"):
        table.add_column(title, justify="right")
    borrows = any(row.get(_BORROWED) for row in rows)
    if borrows:
        table.add_column("BORROWED GB-HOURS", justify="right")
    for row in rows:
        waits = (row["mean_wait_s"], row["median_wait_s"])
        table.add_row(
            *(Text(visible_text(row[key])) for key in by),
            f"{row['jobs']:,}",
            f"{row['started']:,}",
            f"{row['slot_hours']:,.3f}",
            *("-" if wait_s is None else rough_words(wait_s) for wait_s in waits),
            f"{row['preemptions']:,}",
            *([f"{row.get(_BORROWED, 0.0):,.3f}"] if borrows else ()),
        )
    return table
