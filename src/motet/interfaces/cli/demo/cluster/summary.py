"""The last screen of `motet demo`: what became of each job."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.insight.replay_words import CLOSE
from motet.interfaces.cli.demo.cluster.results import DemoResults, JobResult
from motet.report.rendering.fitting_table import result_table
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import duration_text

_OFF = (
    " that is more than usual: on a machine with other work starts, stops and decisions are late, "
    "which may change who is preempted"
)
_WITHIN = "; the difference of both policies is within this error"


def cluster_summary(results: DemoResults) -> RenderableType:
    """A row per job, then the means under both policies."""
    return Group(Padding(_table(results), (1, 0, 1, 1)), *_means(results))


def _means(results: DemoResults) -> list[Text]:
    """Measured under one policy, simulated under the other one."""
    measured = Text(" mean time from submission to end  ")
    measured.append(f"{results.policy} ", QUIET_STYLE)
    measured.append(duration_text(results.mean_jct_s), "bold")
    other_s = results.other_mean_jct_s
    if other_s is None or results.other is None:
        return [measured]
    ratio, error = other_s / results.mean_jct_s, results.replay_error
    is_certain = error is None or abs(ratio - 1) > abs(error)
    measured.append(f"   {results.other} ", QUIET_STYLE)
    shown = duration_text(other_s) + (f" ({ratio:.2f}x)" if is_certain else "")
    measured.append(shown, "bold")
    replayed = f" {results.other}: simulated from the journal of this run"
    if error is not None:
        replayed += f"; its replay of {results.policy} is off by {abs(error):.1%}"
    lines = [measured, Text(replayed, QUIET_STYLE)]
    if error is not None and abs(error) > CLOSE:
        lines.append(Text(_OFF if is_certain else f"{_OFF}{_WITHIN}", QUIET_STYLE))
    return lines


def _table(results: DemoResults) -> Table:
    table = result_table()
    table.add_column("job")
    last = "beside others" if results.other is None else f"under {results.other}"
    for heading in ("slots", "preempted", "ran", "waited", "completed in", last):
        table.add_column(heading, justify="right", no_wrap=True)
    for job in results.jobs:
        table.add_row(*_row(job, shows_shared=results.other is None))
    return table


def _row(job: JobResult, *, shows_shared: bool) -> list[Text | str]:
    failed = Text("" if job.state == "SUCCEEDED" else f"  {job.state}", "red")
    other = "-" if job.other_jct_s is None else duration_text(job.other_jct_s)
    shared = f"{job.shared_s / job.running_s:.0%}" if job.running_s else "-"
    return [
        Text.assemble(("● ", job_colour(job.number - 1)), job.name) + failed,
        str(job.slots),
        f"{job.preemptions}x" if job.preemptions else "-",
        duration_text(job.running_s),
        duration_text(job.jct_s - job.running_s),
        duration_text(job.jct_s),
        shared if shows_shared else other,
    ]
