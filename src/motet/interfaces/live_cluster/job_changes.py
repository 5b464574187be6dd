"""Changes of jobs: a list that is looked at again whenever something has changed, and jobs that
are chosen by what they have in common."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError, Unreachable
from motet.interfaces.api_access.server_absence import AbsenceListener, ServerAbsence
from motet.interfaces.client import LiveClient
from motet.live.jobs.job_state import JobState

Row: TypeAlias = Mapping[str, Any]
OPEN_STATES = tuple(state.value for state in JobState if not state.is_final)
_TOLD = ("state", "reason", "attempts", "processes", "priority", "queue", "max_duration_s")
_REST_PER_LOOK = 4.0
"""A list of many jobs takes time: so much longer is the pause after it."""


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
        rows = [*self._client.jobs(OPEN_STATES, self._array, "0", **more)] if self._rows else []
        chosen = (*self._states, *OPEN_STATES) if self._states else ()
        rows += self._client.jobs(chosen, self._array, last, **more)
        found: dict[str, Row] = {row["id"]: row for row in rows}
        for job, row in self._rows.items():
            if job not in found and row["state"] in OPEN_STATES:
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
            self._failure = Unreachable(
                f"{self._client.url} has ended, jobs run on; start it with 'motet server'"
            )
        except Exception as error:  # The thread that waits raises it.
            self._failure = error
        self._event.set()


def looks(
    client: LiveClient, watched: WatchedJobs, tell: AbsenceListener | None = None
) -> Iterator[list[Row]]:
    """What has changed, look after look, also while the server was away. `client`: that of
    `watched`. `tell`: see ServerAbsence. Raises Unreachable without a server."""
    client.health()  # A server that never answered is not waited for.
    absence = ServerAbsence(client, tell, "until then the list waits")
    while True:
        try:
            with client.another() as listening:
                for changed in _connected_looks(watched, ChangeListener(listening)):
                    absence.end()
                    yield changed
        except Unreachable as error:
            absence.endure(error)


def _connected_looks(watched: WatchedJobs, changes: ChangeListener) -> Iterator[list[Row]]:
    """Raises Unreachable when the server has ended."""
    while True:
        changes.wait()
        began_s = time.monotonic()
        yield watched.look()
        time.sleep(_REST_PER_LOOK * (time.monotonic() - began_s))


def changed_jobs(
    live: LiveClient, jobs: Sequence[str], change: Callable[[str], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Changes jobs, one after the other; each as it is then. Raises NotFound for an unknown one
    before any is changed; after all others BadInput or AuthenticationFailed for those that could
    not be changed."""
    if len(jobs) > 1:
        for job in jobs:
            live.job(job)
    refused: list[BadInput | AuthenticationFailed] = []
    for job in jobs:
        try:
            changed = change(job)
        except (BadInput, AuthenticationFailed) as error:
            refused.append(error)
        else:
            yield changed
    if refused:
        raise _together(refused)


def _together(errors: Sequence[BadInput | AuthenticationFailed]) -> MotetError:
    """One error with all messages, of the kind of the first one."""
    messages = [*dict.fromkeys(map(str, errors))]
    if len(messages) == 1:
        return errors[0]
    kind = AuthenticationFailed if isinstance(errors[0], AuthenticationFailed) else BadInput
    return kind("; ".join(messages))


def cancelled_jobs(
    live: LiveClient, states: Sequence[str], queue: str | None, user: str | None
) -> Iterator[dict[str, Any]]:
    """Cancels the jobs that meet all of it and have not ended, one after the other; each as it is
    then. `states`: empty: all. What ends meanwhile by itself is passed over.

    Jobs that hold no slots are first, the latest of them before the others: a slot that becomes
    free would start the next of them, only to be stopped.
    """
    chosen = [
        job
        for job in live.jobs(tuple(states) or OPEN_STATES, array="0", queue=queue, user=user)
        if job["state"] in OPEN_STATES
    ]
    waiting = [job["id"] for job in chosen if not job["held_processes"]]
    running = [job["id"] for job in chosen if job["held_processes"]]
    for job in (*reversed(waiting), *running):
        try:
            yield live.change(job, "cancel")
        except BadInput:
            if not JobState(live.job(job)["state"]).is_final:
                raise
