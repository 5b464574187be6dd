"""The query of the page of jobs: from the address of the page, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from motet.live.jobs.job_state import JobState
from motet.live.read_tables.read_tables import SORT_COLUMNS, JobQuery

_LONGEST = 64


def job_query(given: Mapping[str, str], states: list[str]) -> JobQuery:
    """What the address asks for; what it does not understand is left out."""
    known = {state.value for state in JobState}
    sort = given.get("sort", "number")
    page = given.get("page", "1")
    return JobQuery(
        states=frozenset(JobState(state) for state in states if state in known),
        queue=given.get("queue", "").strip()[:_LONGEST],
        user=given.get("user", "").strip()[:_LONGEST],
        name=given.get("name", "").strip()[:_LONGEST],
        array=_number(given.get("array", "")),
        sort=sort if sort in SORT_COLUMNS else "number",
        descending=given.get("order", "desc") != "asc",
        page=int(page) if page.lstrip("-").isdecimal() and len(page) < 10 else 1,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def address(query: JobQuery, **changes: Any) -> str:
    """The address of the page of jobs with this query; defaults are left out."""
    wanted, usual = replace(query, **changes), JobQuery()
    values = [("state", state.value) for state in sorted(wanted.states)]
    values += [
        (name, str(getattr(wanted, name)))
        for name in ("queue", "user", "name", "array", "sort", "page")
        if getattr(wanted, name) != getattr(usual, name)
    ]
    if not wanted.descending:
        values.append(("order", "asc"))
    return "/jobs" + (f"?{urlencode(values)}" if values else "")
