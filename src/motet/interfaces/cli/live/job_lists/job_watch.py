"""`motet list --watch`: jobs as they change."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from motet.domain.errors import Interrupted, MotetError, Unreachable
from motet.interfaces.cli.shell.process.signals import raise_on_signals
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import visible_text
from motet.live.jobs.job_state import JobState

if TYPE_CHECKING:
    from rich.table import Table

    from motet.interfaces.client import LiveClient

Row: TypeAlias = Mapping[str, Any]
_OPEN = tuple(state.value for state in JobState if not state.is_final)
_TOLD = ("state", "reason", "attempts", "processes", "priority", "queue")
_REST_PER_LOOK = 4.0
"""A list of many jobs takes time: so much longer is the pause after it."""
_HEADING_AND_REST = 3


class WatchedJobs:
    """Jobs as they were last seen. `states`: only jobs in one of these; empty: all.

    `more`: see `LiveClient.job_pages`.
    """

    def __init__(
        self, client: LiveClient, states: Sequence[str], array: str | None, **more: str | None
    ) -> None:
        self._client, self._states, self._array = client, frozenset(states), array
        self._more = more
        self._rows: dict[str, Row] = {}

    @property
    def rows(self) -> list[Row]:
        """Those to show, in the order of their ids."""
        return [self._rows[job] for job in sorted(self._rows, key=int) if self._is_shown(job)]

    def look(self) -> list[Row]:
        """What has changed since the last look, also rows that are no longer to be shown."""
        before, shown = self._rows, set(filter(self._is_shown, self._rows))
        self._rows = {**before, **self._found()}
        return [
            row
            for job, row in self._rows.items()
            if (job in shown or self._is_shown(job)) and _told(row) != _told(before.get(job, {}))
        ]

    def _found(self) -> dict[str, Row]:
        """Jobs that are new, those that have not ended, and those that have ended meanwhile."""
        last = max(self._rows, key=int, default="0")
        more = self._more
        rows = [*self._client.jobs(_OPEN, self._array, "0", **more)] if self._rows else []
        chosen = (*self._states, *_OPEN) if self._states else ()
        rows += self._client.jobs(chosen, self._array, last, **more)
        found: dict[str, Row] = {row["id"]: row for row in rows}
        for job, row in self._rows.items():
            if job not in found and row["state"] in _OPEN:
                now = self._client.job(job)
                found[job] = {name: now[name] for name in row}
        return found

    def _is_shown(self, job: str) -> bool:
        row = self._rows[job]
        if (queue := self._more.get("queue")) and row["kind"] != "array" and row["queue"] != queue:
            return False  # It was moved to another queue.
        return not self._states or not self._states.isdisjoint(row.get("counts", [row["state"]]))


def _told(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in _TOLD)


class ChangeListener:
    """Hears of changes on a thread of its own, so that none waits for what a look takes."""

    def __init__(self, client: LiveClient) -> None:
        self._client, self._event = client, threading.Event()
        self._failure: Exception | None = None
        threading.Thread(target=self._listen, daemon=True).start()

    def wait(self) -> None:
        """Until something has changed since the last time; the first time, until all changes are
        heard. Raises Unreachable when the server has ended."""
        self._event.wait()
        self._event.clear()
        if isinstance(self._failure, MotetError):
            raise self._failure
        if self._failure is not None:
            raise Unreachable(f"{self._client.url} has ended ({self._failure})")

    def _listen(self) -> None:
        try:
            for _ in self._client.changes():
                self._event.set()
            self._failure = Unreachable(f"{self._client.url} has ended; jobs run on")
        except Exception as error:  # The thread that waits raises it.
            self._failure = error
        self._event.set()


def watch_jobs(
    client: LiveClient,
    watched: WatchedJobs,
    row_format: str,
    columns: Sequence[str],
    *,
    redraws: bool = True,
) -> None:
    """Print jobs and their changes until the user interrupts it. `columns`: of CSV. `redraws`: a
    terminal shows the list anew."""
    changes = ChangeListener(client)
    if redraws and row_format == "table" and is_live_terminal(sys.stdout):
        try:
            _redraw(watched, changes)
        except Interrupted as end:  # It is how a watch ends: no error to tell.
            raise SystemExit(end.exit_code) from end
    show = {"table": _print_line, "json": _print_json}.get(row_format) or _csv_printer(columns)
    while True:
        changes.wait()
        began_s = time.monotonic()
        for row in watched.look():
            show(row)
        sys.stdout.flush()
        time.sleep(_REST_PER_LOOK * (time.monotonic() - began_s))


def _redraw(watched: WatchedJobs, changes: ChangeListener) -> None:
    from rich.live import Live

    from motet.interfaces.cli.shell.streams.safe_console import SafeConsole

    with raise_on_signals(), Live(console=SafeConsole(), auto_refresh=False) as live:
        while True:
            changes.wait()
            began_s = time.monotonic()
            watched.look()
            live.update(_fitting(watched.rows, live.console.height), refresh=True)
            time.sleep(_REST_PER_LOOK * (time.monotonic() - began_s))


def _fitting(rows: Sequence[Row], height: int) -> Table:
    """A table of so many lines: of more rows those that ended first are left out first."""
    from motet.interfaces.cli.live.screens import jobs_table

    room = max(height - _HEADING_AND_REST, 1)
    opened = [row for row in rows if row["state"] in _OPEN][:room]
    ended = [row for row in rows if row["state"] not in _OPEN]
    ended = ended[max(len(ended) - (room - len(opened)), 0) :]
    shown = sorted([*opened, *ended], key=lambda row: int(row["id"]))
    table = jobs_table(shown)
    for column in table.columns:
        column.no_wrap = True
    if len(shown) < len(rows):
        table.caption, table.caption_justify = f"{len(rows) - len(shown)} more jobs", "left"
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
