"""The log on the page of a job: its end at first, then what is added."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import FastAPI, Query
from starlette.responses import JSONResponse

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.accounts.job_access import require_use
from motet.interfaces.server.logs import LogPart, LogPlace, log_path, log_place, read_log
from motet.interfaces.server.web.changes import Changes
from motet.interfaces.server.web.log_text import LogView, log_view
from motet.interfaces.server.web.log_watches import LogWatch, LogWatches
from motet.interfaces.server.web.renderer import PAGE_HEADERS
from motet.live.master.loop import MasterLoop
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState

_TAIL_BYTES, _MOST_BYTES = 16_000, 64_000


@dataclass(frozen=True, slots=True)
class ShownLog:
    """What a page shows of a log. `is_behind`: there is more to read at once."""

    place: LogPlace
    view: LogView
    is_behind: bool
    is_complete: bool

    @property
    def name(self) -> str:
        """Below `/jobs/`, the address at which the page reads on."""
        return f"{self.place.job}/attempts/{self.place.attempt}/log/{self.place.rank}"


class JobLogs:
    """Reads logs for pages."""

    def __init__(self, master: MasterLoop, workplace: Workplace, changes: Changes) -> None:
        self._master, self._workplace = master, workplace
        self._watches = LogWatches(changes)

    def add_to(self, app: FastAPI) -> None:
        """Add the route."""
        path = "/jobs/{number}/attempts/{attempt}/log/{rank}"
        app.add_api_route(path, self.more, include_in_schema=False, response_model=None)

    async def more(
        self,
        number: int,
        attempt: int,
        rank: int,
        caller: RequestCaller,
        offset: Annotated[int, Query(ge=0, lt=2**62)],
    ) -> JSONResponse:
        """A log from an offset on; the stream of this user tells when there is more."""
        await require_use(self._master, caller, number)
        read = self._master.read(lambda state: addressed_place(state, number, attempt, rank))
        place = await asyncio.wrap_future(read)
        part, shown = await asyncio.to_thread(self._part, place, offset)
        if not (shown.is_behind or shown.is_complete):
            path = log_path(self._workplace, place)
            self._watches.add(LogWatch(caller.user, shown.name, path, part.next_offset))
        document = {
            "done": shown.view.done,
            "open": shown.view.open,
            "next": shown.view.next_offset,
            "is_behind": shown.is_behind,
            "is_complete": shown.is_complete,
        }
        return JSONResponse(document, headers=PAGE_HEADERS)

    async def end_of(self, place: LogPlace) -> ShownLog:
        """The last lines."""
        return _shown(place, await asyncio.to_thread(self._tail, place))

    def _part(self, place: LogPlace, offset: int) -> tuple[LogPart, ShownLog]:
        part = read_log(self._workplace, place, offset)
        if part.size - offset <= _MOST_BYTES:
            return part, _shown(place, part)
        part = self._tail(place)
        omitted = part.next_offset - len(part.data) - offset
        return part, _shown(place, part, f"[{omitted:,} bytes: motet logs {place.job}]\n")

    def _tail(self, place: LogPlace) -> LogPart:
        """From the beginning of a line, if there is one."""
        part = read_log(self._workplace, place, -_TAIL_BYTES)
        if part.is_note or part.next_offset == len(part.data):
            return part
        _, newline, lines = part.data.partition(b"\n")
        return replace(part, data=lines) if newline else part


def addressed_place(state: LiveState, number: int, attempt: int, rank: int) -> LogPlace:
    """As `log_place`, for the address of a page. Raises NotFound."""
    try:
        return log_place(state, number, attempt, rank)
    except BadInput as error:
        raise NotFound(str(error)) from error


def _shown(place: LogPlace, part: LogPart, note: str = "") -> ShownLog:
    begin = part.next_offset - len(part.data)
    view = log_view(part.data, begin, is_complete=part.is_complete or part.is_note)
    view = view._replace(done=note + view.done)
    return ShownLog(place, view, part.next_offset < part.size, part.is_complete)
