"""Who used the cluster: `GET /api/v1/usage`."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import AwareDatetime

from motet.domain.units import SECOND_US
from motet.live.read_tables.read_tables import ReadTables
from motet.live.read_tables.usage import USAGE_KEYS, UsageKey, usage_sums


def add_usage_routes(app: FastAPI, tables: ReadTables) -> None:
    """Add the routes."""

    async def usage(
        by: Annotated[list[UsageKey] | None, Query()] = None, since: AwareDatetime | None = None
    ) -> dict[str, Any]:
        """Sums over the period. `by`: keys of the rows, by default all."""
        wanted = tuple(dict.fromkeys(by or USAGE_KEYS))
        from_us = 0 if since is None else round(since.timestamp() * SECOND_US)
        now_us = time.time_ns() // 1000
        rows = await asyncio.to_thread(_sums, tables, wanted, from_us, now_us)
        return {"by": [*wanted], "rows": rows}

    app.add_api_route("/api/v1/usage", usage)


def _sums(
    tables: ReadTables, by: tuple[UsageKey, ...], from_us: int, to_us: int
) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(by, found.keys, strict=True)),
            "jobs": found.jobs,
            "started": found.started,
            "slot_hours": found.slot_hours,
            "mean_wait_s": found.mean_wait_s,
            "median_wait_s": found.median_wait_s,
            "preemptions": found.preemptions,
            "borrowed_gb_hours": found.borrowed_gb_hours,
        }
        for found in usage_sums(tables.used_slots(), by, from_us, to_us)
    ]
