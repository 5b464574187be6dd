"""Explanations and what was simulated from the journal, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from motet.insight.replay_words import replay_notes
from motet.interfaces.live_cluster.frames import indexed_frame

if TYPE_CHECKING:
    import pandas as pd

_RUN = ("kind", "policy", "settings", "finished", "makespan_s", "preemptions")
_RUN_TIMES = (("jct_s", ("mean", "median", "p95", "max")), ("wait_s", ("mean", "median")))
_REPLAYED = (
    *("id", "name", "user", "queue", "processes", "state", "is_predicted", "measured_jct_s"),
    *("in_force_jct_s", "jct_s", "in_force_preemptions", "preemptions"),
)
_DELAYED = ("id", "name", "user", "delay_s", "largest_delay_s")


@dataclass(frozen=True)
class StartRange:
    """When a job is expected to start, in seconds from the answer on: nine of ten starts are aimed
    to lie from `low_s` to `high_s` (of a dry run, see `SubmissionForecast.coverage`). All None:
    unknown, `unknown_because` says why; `overdue_s`: for how long a range has passed; None: there
    was none. `later_than_s`: it waits so long at least in what a dry run has simulated."""

    low_s: float | None
    median_s: float | None
    high_s: float | None
    unknown_because: str
    overdue_s: float | None = None
    later_than_s: float | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        low_s, median_s, high_s = (found[f"{name}_s"] for name in ("low", "median", "high"))
        because, overdue_s = found["unknown_because"] or "", found.get("overdue_s")
        later_than_s = found.get("later_than_s")
        return cls(low_s, median_s, high_s, because, overdue_s, later_than_s)


@dataclass(frozen=True)
class RangeCoverage:
    """How good the predicted starts were. `waits`: all that began to be predicted; `known`: those
    with a range whose job has started or should have; `inside`: starts within it. `share`,
    `median_width_s`: None: of none."""

    waits: int
    known: int
    inside: int
    share: float | None
    median_width_s: float | None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        return cls(**{each.name: found[each.name] for each in fields(cls)})


@dataclass(frozen=True)
class JobExplanation:
    """Why a job waits and where it ran. `reason`, `message`: of the present wait, empty: it does
    not wait. `advice`: what its user could do. `expected_start`: None: it does not wait.
    `waited_s`: seconds by the reasons of `motet explain --json`. `ran_s`:
    seconds with slots. `chapters`: a row per stretch of time with `from`, `to` and `sentence`."""

    job: int
    state: str
    reason: str
    message: str
    advice: str
    expected_start: StartRange | None
    waited_s: Mapping[str, float]
    ran_s: float
    chapters: pd.DataFrame

    @classmethod
    def of(cls, job: int, found: Mapping[str, Any]) -> Self:
        """From its document."""
        from pandas import DataFrame, to_datetime

        columns = ("from", "to", "sentence")
        rows = [{name: each.get(name) for name in columns} for each in found["chapters"]]
        chapters = DataFrame(rows, columns=list(columns))
        for name in ("from", "to"):
            chapters[name] = to_datetime(chapters[name], format="ISO8601", utc=True)
        start, totals = found.get("expected_start"), found["totals"]
        return cls(
            job,
            **{name: found[name] for name in ("state", "reason", "message")},
            advice=found.get("advice") or "",
            expected_start=None if start is None else StartRange.of(start),
            waited_s=totals["waiting_s"],
            ran_s=totals["running_s"],
            chapters=chapters,
        )


@dataclass(frozen=True)
class SubmissionForecast:
    """What a submission would do; nothing was submitted.

    `jobs`: of an array several, of `processes` each. The policy may give a job from
    `least_processes` to `most_processes` (None: one on every machine); one that `proposes_size`
    begins with the fewest. `coverage`: the part of such starts that should be in the ranges; None:
    there are none. `trial_s`: how long their trial runs before
    them, at most; None: they have none. `expected_start`: of the first, `last_start`
    of the last one. `run_time_s`: low, median and high; None: unknown. `delayed`: a row per job
    that would end later by a second or more, with `delay_s` (median) and `largest_delay_s`; None:
    unknown, `delayed_unknown_because` says why. `simulations`, `delay_simulations`: from how many
    the starts and the delays are; None: of delays, from as many as are wanted.
    """

    name: str
    policy: str
    jobs: int
    processes: int
    expected_start: StartRange
    last_start: StartRange
    run_time_s: tuple[float, ...] | None
    delayed: pd.DataFrame | None
    delayed_unknown_because: str
    trial_s: float | None = None
    least_processes: int = 1
    most_processes: int | None = None
    proposes_size: bool = False
    coverage: float | None = None
    simulations: int | None = None
    delay_simulations: int | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        size_names = ("least_processes", "most_processes")
        same = ("name", "policy", "jobs", "processes", "delayed_unknown_because")
        times_s, delayed = found["run_time_s"], found["delayed"]
        return cls(
            **{name: found[name] for name in same},
            trial_s=found.get("trial_s"),
            coverage=found.get("coverage"),
            simulations=found.get("simulations"),
            delay_simulations=found.get("delay_simulations"),
            proposes_size=found.get("proposes_size", False),
            **{name: found.get(name, found["processes"]) for name in size_names},
            expected_start=StartRange.of(found["expected_start"]),
            last_start=StartRange.of(found["last_start"]),
            run_time_s=None if times_s is None else tuple(times_s),
            delayed=None if delayed is None else indexed_frame(_numbered(delayed), _DELAYED, "id"),
        )


@dataclass(frozen=True)
class PolicyReplay:
    """The jobs of the cluster as they were, simulated under the policies that were in force, and
    under another one: a row of `runs` each, with completion times (`jct_mean_s`, ...) and waits in
    seconds.

    `jobs`: a row per job; `jct_s` under the other policy, `in_force_jct_s` under those in force,
    `measured_jct_s` as it was; NaN: the job did not complete. `replay_error`: of the simulated mean
    under the policies in force, relative to the measured one; None: unknown. `notes`: what to know
    about the figures. `document`: the fields of `motet whatif --json`.
    """

    since: datetime
    until: datetime
    runs: pd.DataFrame
    jobs: pd.DataFrame
    replay_error: float | None
    notes: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        from pandas import DataFrame

        return cls(
            since=datetime.fromisoformat(found["from"]),
            until=datetime.fromisoformat(found["until"]),
            runs=DataFrame([_run_row(each) for each in found["runs"]]),
            jobs=indexed_frame(_numbered(found["job_list"]), _REPLAYED, "id"),
            replay_error=found["replay_error"],
            notes=tuple(replay_notes(found)),
            document=found,
        )


def _run_row(run: Mapping[str, Any]) -> dict[str, Any]:
    times = {
        f"{key.removesuffix('_s')}_{name}_s": (run[key] or {}).get(name)
        for key, names in _RUN_TIMES
        for name in names
    }
    return {name: run[name] for name in _RUN} | times


def _numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "id": int(row["id"])} for row in rows]
