"""`motet list --watch`: jobs as they change."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from motet.domain.errors import Interrupted
from motet.interfaces.cli.live.connection import echo_absence
from motet.interfaces.cli.shell.process.signals import raise_on_signals
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import visible_text
from motet.interfaces.live_cluster.job_changes import OPEN_STATES, Row, WatchedJobs, looks

if TYPE_CHECKING:
    from rich.table import Table

    from motet.interfaces.client import LiveClient

_HEADING_AND_REST = 3


def watch_jobs(
    client: LiveClient,
    watched: WatchedJobs,
    row_format: str,
    columns: Sequence[str],
    *,
    redraws: bool = True,
) -> None:
    """Print jobs and their changes until the user interrupts it, also while the server was away.
    `columns`: of CSV. `redraws`: a terminal shows the list anew."""
    if redraws and row_format == "table" and is_live_terminal(sys.stdout):
        try:
            _redraw(client, watched)
        except Interrupted as end:  # It is how a watch ends: no error to tell.
            raise SystemExit(end.exit_code) from end
    show = {"table": _print_line, "json": _print_json}.get(row_format) or _csv_printer(columns)
    for changed in looks(client, watched, echo_absence):
        for row in changed:
            show(row)
        sys.stdout.flush()


def _redraw(client: LiveClient, watched: WatchedJobs) -> None:
    from rich.live import Live

    from motet.interfaces.cli.shell.streams.safe_console import SafeConsole

    with raise_on_signals(), Live(console=SafeConsole(), auto_refresh=False) as live:

        def show(note: str = "") -> None:
            live.update(_fitting(watched.rows, live.console.height, note), refresh=True)

        for _ in looks(client, watched, tell=show):
            show()


def _fitting(rows: Sequence[Row], height: int, note: str) -> Table:
    """A table of so many lines: of more rows those that ended first are left out first. `note`:
    to read below it."""
    from motet.interfaces.cli.live.screens import jobs_table

    room = max(height - _HEADING_AND_REST, 1)
    opened = [row for row in rows if row["state"] in OPEN_STATES][:room]
    ended = [row for row in rows if row["state"] not in OPEN_STATES]
    ended = ended[max(len(ended) - (room - len(opened)), 0) :]
    shown = sorted([*opened, *ended], key=lambda row: int(row["id"]))
    table = jobs_table(shown)
    for column in table.columns:
        column.no_wrap = True
    left_out = f"{len(rows) - len(shown)} more jobs" if len(shown) < len(rows) else ""
    table.caption_justify = "left"
    table.caption = "\n".join(filter(None, [left_out, visible_text(note)])) or None
    return table


def _print_line(row: Row) -> None:
    reason = f": {row['reason']}" if row["reason"] else ""
    line = f"{row['id']}  {row['name']}  {row['state']}{reason}"
    sys.stdout.write(f"{visible_text(line)}\n")


def _print_json(row: Row) -> None:
    sys.stdout.write(f"{json.dumps(row)}\n")


def _csv_printer(columns: Sequence[str]) -> Callable[[Row], None]:
    from motet.interfaces.cli.shell.row_formats import csv_lines

    sys.stdout.write(csv_lines([columns]))

    def show(row: Row) -> None:
        sys.stdout.write(csv_lines([[row[name] for name in columns]]))

    return show
