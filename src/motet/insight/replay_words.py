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
CLOSE = 0.05
"""A replay whose mean differs by more from the measured one is said to be off at once."""
_MOST_NAMED = 6
_NOTHING_COMPARED = (
    "No job of this period has ended by itself, so there are no completion times to compare: begin "
    "earlier, or ask again later."
)
_IN_FORCE, _OTHER = 1, 2
"""Of the runs of a report; the first one is what was measured."""


def policy_words(policy: str, settings: Mapping[str, str]) -> str:
    """`tiresias-las (quantum_s=1)`."""
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f"{policy} ({told})" if told else policy


def run_figures(run: Mapping[str, Any]) -> dict[str, str]:
    """What is told of a run beside others, by title: times of its jobs that ended by themselves."""
    times, waits = run["jct_s"] or {}, run["wait_s"] or {}
    return {
        "Mean": time_words(times.get("mean")),
        "Median": time_words(times.get("median")),
        "95th": time_words(times.get("p95")),
        "Mean wait": time_words(waits.get("mean")),
        "Makespan": time_words(run["makespan_s"]),
        "Preemptions": f"{run['preemptions']:,}",
    }


def run_words(report: Mapping[str, Any], place: int) -> str:
    """`fifo, measured`; `3 policies in turn, measured`, where the policy was changed."""
    return f"{_policies_of(report, place)}, {report['runs'][place]['kind']}"


def _policies_of(report: Mapping[str, Any], place: int) -> str:
    """Of one of the three runs: of the last one the other policy, all the time."""
    in_turn = report.get("policies", ())  # Replays that were kept by earlier versions have none.
    if len(in_turn) > 1 and place < _OTHER:
        return f"{len(in_turn)} policies in turn"
    return policy_words(report["runs"][place]["policy"], report["runs"][place]["settings"])


def result_sentence(report: Mapping[str, Any]) -> str:
    """The result in one or two sentences; empty: the runs are not of the same jobs.

    Differences that are smaller than the error of the replay are no result.
    """
    measured, in_force, other = report["runs"]
    if not measured["finished"]:
        return _NOTHING_COMPARED
    if not in_force["finished"] or in_force["finished"] != other["finished"]:
        return ""
    before_s, after_s = in_force["jct_s"]["mean"], other["jct_s"]["mean"]
    policies, name = _policies_of(report, _IN_FORCE), _policies_of(report, _OTHER)
    before, after, error = time_words(before_s), time_words(after_s), report["replay_error"]
    would = f"Under {name} the mean completion time would be {after}"
    result = f"{would}, {_compared(after_s / before_s - 1)} under {policies} ({before})."
    if error is None:
        return f"{result} How far the replay is off is not known."
    measured_s = measured["jct_s"]["mean"]
    is_certain = abs(after_s - before_s) > abs(before_s - measured_s)
    if abs(error) <= CLOSE:
        about = f"{would}, as under {policies} within the error of the replay, {abs(error):.1%}."
        return result if is_certain or before_s == after_s else about
    unknown = (
        f"Whether {name} would be better is not known: its mean, {after}, is within this error."
    )
    return (
        f"The replay of {policies} is off by {error:+.1%}: its mean completion time is {before}, "
        f"measured {time_words(measured_s)}. {result if is_certain else unknown}"
    )


def _compared(change: float) -> str:
    """Of a mean with another one, as the beginning of a clause."""
    if round(change, 3) == 0:
        return "the same as"
    if change > 1:
        return f"{change + 1:.1f} times as long as"
    return f"{abs(change):.1%} {'shorter' if change < 0 else 'longer'} than"


def replay_notes(report: Mapping[str, Any]) -> Iterator[str]:
    """What to know about the figures."""
    yield from report.get("warnings", ())  # Replays that were kept by earlier versions have none.
    runs, other = report["runs"], _policies_of(report, _OTHER)
    if report["replay_error"] is not None:
        restart = time_words(report["restart_s"])
        policies = "policies" if len(report.get("policies", ())) > 1 else "policy"
        yield (
            f"replay: the mean under the {policies} in force differs by "
            f"{report['replay_error']:+.1%} from the measured one; a further start of a job costs "
            f"{restart}"
        )
    compared = report["jobs_compared"]
    if 0 < compared < report["jobs"]:
        ended = "has ended by itself" if compared == 1 else "have ended by themselves"
        yield f"times are of the {counted(compared, 'job')} that {ended}"
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
    if commands := report.get("elastic_commands"):
        yield (
            f"{counted(commands, 'elastic command')}: replayed with all processes, for as long as "
            "with those that they had, since commands report no speeds; where they had fewer, "
            "these times are too long"
        )
    yield from _notes_on_sizes(report, other)
    if report["policy_changes"]:
        yield _note_on_changes(report)
    if runs[_OTHER]["finished"] < compared:
        missing = compared - runs[_OTHER]["finished"]
        yield f"{counted(missing, 'job')} would not have ended under {other}"
    if never := report.get("never_start"):
        yield _note_on_never_started(never)
    if runs[_OTHER]["knows_durations"]:
        yield f"{other} is told the run times that were measured"


def _note_on_never_started(never: Sequence[Mapping[str, Any]]) -> str:
    """Replays that were kept by earlier versions do not know these jobs."""
    told = "; ".join(f"{_named(each)} ({each['title']})" for each in never)
    return f"jobs that never start in the replay, and count as unfinished: {told}"


def _named(row: Mapping[str, Any]) -> str:
    """`job 4, job 7 and 3 more`."""
    named = ", ".join(f"job {number}" for number in row["first"])
    others = row["jobs"] - len(row["first"])
    return f"{named} and {others} more" if others else named


def _note_on_changes(report: Mapping[str, Any]) -> str:
    changed = f"the policy was changed {counted(report['policy_changes'], 'time')}"
    if "policies" not in report:  # As earlier versions kept replays.
        return f"{changed}; the replay knows only the last one"
    names = [policy_words(each["policy"], each["settings"]) for each in report["policies"]]
    named, others = names[:_MOST_NAMED], len(names) - _MOST_NAMED
    told = ", then ".join([*named, f"{others} more"] if others > 0 else named)
    other = _policies_of(report, _OTHER)
    return f"{changed}, and is at the same moments in the replay: {told}; {other} stays in force"


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
