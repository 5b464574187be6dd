"""The page of the time axis: jobs with the gaps of preemptions, and their predicted future."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from motet.domain.units import SECOND_US, seconds
from motet.interfaces.server.predictions.start_predictions import StartPredictions
from motet.interfaces.server.web import pages
from motet.interfaces.server.web.drawings import Bar, bars, ticks
from motet.interfaces.server.web.renderer import PageRenderer
from motet.interfaces.server.web.timeline.predicted_bars import (
    PredictedBar,
    Range,
    end_range,
    expected_range,
    predicted_bar,
)
from motet.live.jobs.job_state import JobState
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState
from motet.live.read_tables.read_tables import ReadTables

MOST_JOBS, MOST_WAITING = 100, 30
"""With attempts in the period; without, that are expected to start on the axis."""
PERIODS_MIN, _USUAL_MIN = (10, 60, 360, 1440, 10_080), 60
_AHEAD = 2
"""The axis goes on after now for this part of the period."""
_RUNS = (JobState.STARTING, JobState.RUNNING)


@dataclass(frozen=True)
class _Axis:
    """Unix microseconds."""

    begin_us: int
    now_us: int
    end_us: int

    @property
    def now_x(self) -> float:
        """Per cent of the axis."""
        return round(100 * (self.now_us - self.begin_us) / (self.end_us - self.begin_us), 3)

    @property
    def range(self) -> Range:
        """In seconds."""
        return Range(seconds(self.begin_us), seconds(self.end_us))


class TimelinePage:
    """The page of one server."""

    def __init__(
        self,
        master: MasterLoop,
        tables: ReadTables,
        predictions: StartPredictions,
        renderer: PageRenderer,
    ) -> None:
        self._master, self._tables = master, tables
        self._predictions, self._pages = predictions, renderer

    def add_to(self, app: FastAPI) -> None:
        """Add the route."""
        app.add_api_route("/timeline", self.show, include_in_schema=False, response_model=None)

    async def show(self, request: Request) -> Response:
        """Jobs on a time axis; `minutes`: until now."""
        minutes = _minutes(request.query_params.get("minutes", ""))
        now_us = time.time_ns() // 1000
        length_us = minutes * 60 * SECOND_US
        axis = _Axis(now_us - length_us, now_us, now_us + length_us // _AHEAD)
        self._predictions.watch()
        attempts = await asyncio.to_thread(
            self._tables.attempts_between, axis.begin_us, now_us, MOST_JOBS
        )
        by_job = {
            number: bars(rows, axis.begin_us, now_us, axis.end_us)
            for number, rows in groupby(attempts, lambda each: each.job)
        }
        starts, ends = self._predictions.ahead(now_us)
        more = {
            "ticks": ticks(axis.begin_us, axis.end_us),
            "now_x": axis.now_x,
            "minutes": minutes,
            "periods": PERIODS_MIN,
            "most": MOST_JOBS,
            "is_full": len(by_job) == MOST_JOBS,
        }
        document = await asyncio.wrap_future(
            self._master.read(lambda state: timeline(state, by_job, starts, ends, axis))
        )
        return self._pages.render(request, "timeline.html", {**document, **more})


def timeline(
    state: LiveState,
    by_job: Mapping[int, Sequence[Bar]],
    starts: Mapping[int, Mapping[str, Any]],
    ends: Mapping[int, Sequence[float | None]],
    axis: _Axis,
) -> dict[str, Any]:
    """`jobs`: with bars until now and what is predicted. `waiting`: in words, predicted waits that
    are not on the axis."""
    now_s = seconds(axis.now_us)
    soon = sorted((start["low_s"], job) for job, start in starts.items() if _is_on(start, axis))
    added = [job for _, job in soon if job not in by_job][:MOST_WAITING]
    shown = sorted([*by_job, *added])

    def ahead(number: int) -> PredictedBar | None:
        job = state.jobs[number]
        start, runs = starts.get(number), job.state in _RUNS
        end = end_range(ends[number], now_s) if number in ends else None
        if runs:
            return predicted_bar(Range(now_s, now_s), end, axis.range, runs=True)
        if start is None:
            return None
        because = start["unknown_because"]
        return predicted_bar(expected_range(start, now_s), end, axis.range, because=because)

    on_page = {*shown}
    left = [start for job, start in starts.items() if job not in on_page]
    return {
        **pages.common(state),
        "jobs": [
            {
                **pages.line(state, state.jobs[each]),
                "bars": by_job.get(each, ()),
                "ahead": ahead(each),
            }
            for each in shown
        ],
        "waiting": waiting_words(len(left), sum(start["high_s"] is None for start in left)),
    }


def waiting_words(waiting: int, unknown: int) -> str:
    """Of waits that are not on the axis, `unknown` of them without an expected start; empty: there
    are none."""
    if not waiting:
        return ""
    words = f"{waiting:,} more {'job waits' if waiting == 1 else 'jobs wait'}"
    if not unknown:
        return words
    if unknown == waiting:
        return f"{words}; when {'it' if waiting == 1 else 'they'} will start is unknown"
    which = "start of one" if unknown == 1 else f"starts of {unknown:,}"
    return f"{words}; the {which} of them {'is' if unknown == 1 else 'are'} unknown"


def _is_on(start: Mapping[str, Any], axis: _Axis) -> bool:
    """Whether a job may start before the end of the axis."""
    low_s = start["low_s"]
    return low_s is not None and low_s < seconds(axis.end_us - axis.now_us)


def _minutes(text: str) -> int:
    return next((each for each in PERIODS_MIN if str(each) == text), _USUAL_MIN)
