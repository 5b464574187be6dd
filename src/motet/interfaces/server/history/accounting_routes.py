"""The accounting records of all jobs, in parts: `GET /api/v1/accounting`."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import AwareDatetime

from motet.live.jobs.accounting import ACCOUNTING_FIELDS, accounting_lines
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState

_MOST_JOBS = 1000
"""Of one part, so that the thread of the master is not held for long."""


def add_accounting_routes(app: FastAPI, master: MasterLoop) -> None:
    """Add the routes."""

    async def accounting(
        after: Annotated[int, Query(ge=0)] = 0, since: AwareDatetime | None = None
    ) -> dict[str, Any]:
        """Records of jobs in the order of their ids. `after`: the last job of the part before.
        `since`: only jobs that were submitted then or later."""
        since_us = 0 if since is None else round(since.timestamp() * 1e6)
        now_us = time.time_ns() // 1000
        return await asyncio.wrap_future(
            master.read(lambda state: accounting_part(state, after, since_us, now_us))
        )

    app.add_api_route("/api/v1/accounting", accounting)


def accounting_part(state: LiveState, after: int, since_us: int, now_us: int) -> dict[str, Any]:
    """`lines` of the next jobs; `next`: `after` of the next part, None: there is none."""
    last = min(after + _MOST_JOBS, state.next_job - 1)
    numbers = range(after + 1, last + 1)
    jobs = (state.jobs[number] for number in numbers if number in state.jobs)
    chosen = (job for job in jobs if job.submitted_us >= since_us)
    return {
        "fields": [*ACCOUNTING_FIELDS],
        "lines": [line for job in chosen for line in accounting_lines(job, now_us)],
        "next": last if last < state.next_job - 1 else None,
    }
