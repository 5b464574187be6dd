"""Words about a replay under another policy: what to know about its figures, and who moves. Pure.

`report` is the document of `motet whatif --json`, or one with its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from motet.domain.units import duration_words, microseconds
from motet.insight.wording import counted

_SAME = 0.01
"""Completion times that differ by less are the same."""


def policy_words(policy: str, settings: Mapping[str, str]) -> str:
    """`tiresias-las (quantum_s=1)`."""
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f"{policy} ({told})" if told else policy


def replay_notes(report: Mapping[str, Any]) -> Iterator[str]:
    """What to know about the figures."""
    yield from report.get("warnings", ())  # Replays that were kept by earlier versions have none.
    runs = report["runs"]
    other = policy_words(runs[2]["policy"], runs[2]["settings"])
    if report["replay_error"] is not None:
        restart = time_words(report["restart_s"])
        yield (
            f"replay: the mean under the policy in force differs by {report['replay_error']:+.1%} "
            f"from the measured one; a further start of a job costs {restart}"
        )
    compared = report["jobs_compared"]
    if compared < report["jobs"]:
        yield f"times are of the {counted(compared, 'job')} that have ended by themselves"
    if report["jobs_predicted"]:
        assumed = report["jobs_assumed"]
        yield (
            f"{counted(report['jobs_predicted'], 'job')} not ended yet: simulated with the median "
            "run time of jobs like them"
            + (
                f"; {assumed} of them, without such jobs, twice as long as until now"
                if assumed
                else ""
            )
        )
    if report["elastic_jobs"]:
        yield f"{counted(report['elastic_jobs'], 'elastic training')}: replayed with a fixed size"
    yield from _notes_on_sizes(report, other)
    if report["policy_changes"]:
        changes = counted(report["policy_changes"], "time")
        yield f"the policy was changed {changes}; the replay knows only the last one"
    if runs[2]["finished"] < compared:
        missing = compared - runs[2]["finished"]
        yield f"{counted(missing, 'job')} would not have ended under {other}"
    if runs[2]["knows_durations"]:
        yield f"{other} is told the run times that were measured"


def _notes_on_sizes(report: Mapping[str, Any], other: str) -> Iterator[str]:
    """On trainings whose size changes. Replays that were kept by earlier versions have none."""
    if resized := report.get("resized_jobs"):
        proposed = counted(report["proposals"], "size")
        yield (
            f"{counted(resized, 'training')} of changing size: replayed with the speeds that they "
            f"reported at each size; {proposed} proposed, after as much work as on the cluster; a "
            f"resize costs {time_words(report['resize_s'])}"
        )
    if on_machines := report.get("machine_jobs"):
        yield (
            f"{counted(on_machines, 'training')} on machines: replayed with the COMP and COMM "
            "times that they reported; on shared machines an iteration takes as long as the "
            "model of harmony predicts"
        )
    if unprofiled := report.get("unprofiled_jobs"):
        yield (
            f"{counted(unprofiled, 'training')} on machines reported no COMP and COMM: taken to "
            "have equal parts of the time on shared machines"
        )
    if estimated := report.get("estimated_jobs"):
        yield (
            f"{counted(estimated, 'training')} had sizes under {other} at which no speed was "
            "measured: predicted from those that were"
        )


def moved_jobs(jobs: Sequence[Mapping[str, Any]]) -> list[tuple[float, Mapping[str, Any]]]:
    """Jobs that end in both simulations, with how much later they do under the other policy; the
    largest changes first."""
    pairs = [
        (job["jct_s"] - job["in_force_jct_s"], job)
        for job in jobs
        if job["jct_s"] is not None and job["in_force_jct_s"] is not None
    ]
    moved = [(later, job) for later, job in pairs if abs(later) > _SAME * job["in_force_jct_s"]]
    return sorted(moved, key=lambda each: -abs(each[0]))


def time_words(seconds: float | None) -> str:
    """A time; a dash for none."""
    return "-" if seconds is None else duration_words(microseconds(str(seconds)))
