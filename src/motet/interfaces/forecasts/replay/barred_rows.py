"""Jobs that never start in a replay, as the report names them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from motet.domain.wait import Wait

MOST_NAMED = 6
"""Of the jobs with one reason; the size of a summary does not depend on the number of jobs."""


def barred_rows(jobs: Sequence[int], barred: Mapping[int, Wait]) -> list[dict[str, Any]]:
    """A row per reason: `reason` and its `title`, how many `jobs` it has, and the `first` of their
    ids. `jobs`: the live numbers, by place; `barred`: by place, when the simulation ended."""
    of_reason: dict[Wait, list[int]] = defaultdict(list)
    for place, why in sorted(barred.items()):
        of_reason[why].append(jobs[place])
    return [
        {
            "reason": why.reason.name,
            "title": why.reason.title,
            "jobs": len(numbers),
            "first": [str(number) for number in sorted(numbers)[:MOST_NAMED]],
        }
        for why, numbers in sorted(of_reason.items())
    ]
