"""Usual names of the columns of job logs, for proposals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from motet.domain.errors import nearest_name

ALIASES: Mapping[str, tuple[str, ...]] = {
    "job_id": ("jobid", "id", "job", "job_name", "name", "uid"),
    "submit_time": ("submit", "submitted", "submitted_at", "created", "created_at", "timestamp"),
    "num_gpus": (
        *("gpus", "gpu", "gpu_num", "num_gpu", "gpu_count", "ngpus", "allocgpus", "gres"),
        *(
            "gpus_used",
            "used_gpus",
            "gpus_requested",
            "requested_gpus",
            "gpus_allocated",
            "allocated_gpus",
        ),
    ),
    "duration": ("elapsed", "run", "runtime", "run_time", "wall_time", "walltime", "elapsedraw"),
    "start_time": ("start", "started", "started_at"),
    "end_time": ("end", "ended", "ended_at", "finished", "finished_at", "completed_at"),
}
_SECONDS = re.compile(r"[(\[](?:s|secs?|seconds?)[)\]]|(?<=[ _])(?:s|secs?|seconds?)$")
_COUNTS = frozenset(("num", "number", "no", "nr", "n", "of", "count", "total", "#"))
_WORDS = re.compile(r"#|[^\W_]+")


def usual_column(name: str, header: Sequence[str]) -> str | None:
    """The column of the header that has one of the usual names of a column, or a similar one.

    "# GPUs", "Number of GPUs" and "gpus" are the same name, as are "Run Time (s)" and "runtime".
    """
    by_key: dict[str, str] = {}
    for column in header:
        by_key.setdefault(_key(column), column)
    usual = next((by_key[key] for key in map(_key, ALIASES[name]) if key in by_key), None)
    return usual or nearest_name(name, header)


def has_usual_name(name: str, header: Sequence[str]) -> bool:
    """Whether a column of the header has the name or one of its usual names."""
    return not {_key(column) for column in header}.isdisjoint(map(_key, (name, *ALIASES[name])))


def _key(column: str) -> str:
    """The name in lower case without blanks, marks, words for a count, and the unit s."""
    words = _WORDS.findall(_SECONDS.sub(" ", column.strip().lower()))
    kept = [word for word in words if word not in _COUNTS]
    return "".join(kept or words)
