"""What the templates show of replays: figures in words, curves for the plot. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from motet.domain.units import iso_seconds
from motet.insight.replay_words import (
    policy_words,
    replay_notes,
    result_sentence,
    run_figures,
    run_words,
    time_words,
)
from motet.interfaces.server.web.drawings import colour_of
from motet.interfaces.server.web.pages import local_time
from motet.interfaces.server.what_if.replay_store import ReplayState, StoredReplay

SHARES = ("10 %", "25 %", "50 %", "75 %", "90 %", "95 %", "99 %", "100 %")
"""Of the jobs; the quantiles of every curve in a summary are in this order."""
_COLOURS = (0, 2, 6)
_COLOURS_OF_OTHER = (4, 7, 3)
_DASHES = ((), (6, 4), ())


def replay_line(replay: StoredReplay) -> dict[str, Any]:
    """A replay in the list."""
    since_us = replay.wanted.since_us
    return {
        "number": replay.number,
        "user": replay.user,
        "policy": policy_words(replay.wanted.policy, replay.wanted.settings),
        "since": "all jobs" if since_us is None else f"since {local_time(since_us)}",
        "asked": local_time(replay.asked_us),
        "ended": local_time(replay.ended_us),
        "state": replay.state.value,
        "is_running": replay.state is ReplayState.RUNNING,
        "is_done": replay.state is ReplayState.DONE,
        "message": replay.message,
    }


def replay_report(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A result, in words."""
    return {
        "from": _moment(summary["from"]),
        "until": _moment(summary["until"]),
        "jobs": summary["jobs"],
        "jobs_compared": summary["jobs_compared"],
        "verdict": result_sentence(summary),
        "notes": [*replay_notes(summary)],
        "moved": [
            ("Jobs that end later", "later", summary["jobs_later"], _rows(summary["later"])),
            ("Jobs that end sooner", "sooner", summary["jobs_sooner"], _rows(summary["sooner"])),
        ],
    }


def replay_runs(
    number: int, summary: Mapping[str, Any], other: tuple[int, Mapping[str, Any]] | None
) -> list[dict[str, Any]]:
    """Rows of the table of runs, each with its curve. `other`: a second replay; of one of the same
    jobs only the run under its policy is shown, the other two are the same."""
    found = _runs(number, summary, _COLOURS)
    if other is not None:
        rows = _runs(*other, _COLOURS_OF_OTHER)
        found += rows[2:] if is_same_period(summary, other[1]) else rows
    return found


def is_same_period(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two replays are of the same jobs under the same policy in force."""
    return bool(one["runs"][:2] == other["runs"][:2])


def _runs(number: int, summary: Mapping[str, Any], colours: Sequence[int]) -> list[dict[str, Any]]:
    rows = []
    each_run = zip(summary["runs"], summary["curves"], colours, _DASHES, strict=True)
    for place, (run, curve, colour, dash) in enumerate(each_run):
        label = run_words(summary, place)
        rows.append(
            {
                "number": number,
                "label": label,
                "colour": colour,
                "figures": run_figures(run),
                "quantiles": [time_words(each) for each in curve["quantiles"]],
                "curve": {
                    "label": label,
                    "colour": colour,
                    "dash": list(dash),
                    "x": [float(f"{each:.6g}") for each in curve["x"]],
                    "y": [round(each, 5) for each in curve["y"]],
                },
            }
        )
    return rows


def _moment(at: str | float) -> str:
    """Results that an earlier version has stored have Unix seconds."""
    unix_s = iso_seconds(at) if isinstance(at, str) else at
    return local_time(round(unix_s * 1e6))


def _rows(jobs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **{name: job[name] for name in ("id", "name", "user", "queue", "processes", "state")},
            "colour": colour_of(int(job["id"])),
            "before": time_words(job["in_force_jct_s"]),
            "after": time_words(job["jct_s"]),
            "change": ("+" if job["change_s"] > 0 else "−") + time_words(abs(job["change_s"])),
            "is_predicted": job["is_predicted"],
        }
        for job in jobs
    ]
