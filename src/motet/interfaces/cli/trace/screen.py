"""The description of a trace: as a page and as a JSON document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.screens.drawing import epoch_bar
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import bytes_text, count_text, duration_text
from motet.sim.traces import FORMATS, Trace
from motet.sim.traces.summary import (
    ClusterLoad,
    ElasticJobs,
    LoggedTimes,
    RequestStatistics,
    TraceSummary,
)

BAR_WIDTH = 16
MOST_SIZES = 20
_DAY_S = 86_400.0
_POISSON_BELOW, _BURSTY_ABOVE = 0.8, 1.3


def trace_document(file: Path, trace: Trace, summary: TraceSummary) -> dict[str, Any]:
    """The fields of `--json`."""
    return {
        "file": str(file),
        "format": trace.format,
        "sha256": trace.sha256,
        **summary.document(),
        "notices": list(trace.notices),
        "skipped": dict(trace.skipped),
    }


def trace_table(file: Path, trace: Trace, summary: TraceSummary) -> RenderableType:
    """The page that `motet trace describe` prints."""
    described = FORMATS[trace.format].described if trace.format in FORMATS else "drawn workload"
    heading = Text(f"{file.name}: {count_text(summary.jobs, 'job')}", style="bold")
    heading.append(f"   {described}", style=QUIET_STYLE)
    return Group(heading, Text(), _sizes(summary), Text(), _facts(summary))


def _sizes(summary: TraceSummary) -> Table:
    table = Table(box=None, pad_edge=False, header_style=QUIET_STYLE)
    for name in ("GPUs", "jobs", "", "GPU-hours", ""):
        table.add_column(name, justify="right" if name else "left")
    for size in summary.sizes[:MOST_SIZES]:
        hours_share = size.gpu_hours / summary.gpu_hours if summary.gpu_hours else 0.0
        table.add_row(
            f"{size.gpus:,}",
            f"{size.jobs:,}",
            _share(size.jobs / summary.jobs, job_colour(0)),
            f"{size.gpu_hours:,.1f}",
            _share(hours_share, job_colour(1)),
        )
    if len(summary.sizes) > MOST_SIZES:
        table.add_row("...", f"{len(summary.sizes) - MOST_SIZES} more sizes, see --json")
    return table


def _share(share: float, colour: str) -> Text:
    return Text.assemble(epoch_bar(share, BAR_WIDTH, colour), f" {share:6.1%}")


def _facts(summary: TraceSummary) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style=QUIET_STYLE)
    table.add_column(overflow="fold")
    table.add_row("durations", _durations(summary))
    table.add_row("arrivals", _arrivals(summary))
    table.add_row("GPU time", f"{summary.gpu_hours:,.1f} GPU-hours")
    table.add_row(
        "demand",
        f"{summary.demand_gpus['mean']:,.1f} GPUs on average, {summary.demand_gpus['peak']:,.0f} "
        "at most, if no job ever waited",
    )
    if summary.logged is not None:
        table.add_row("in the log", _logged(summary.logged))
    if summary.cluster is not None:
        table.add_row("cluster", _load(summary.cluster))
    known = {"queues": summary.queues, "users": summary.users, "models": summary.models}
    if parts := [f"{count:,} {name}" for name, count in known.items() if count > 1]:
        table.add_row("from", ", ".join(parts))
    if summary.elastic is not None:
        table.add_row("elastic", _elastic(summary.elastic, summary.jobs))
    if summary.experiments is not None:
        of_jobs = count_text(summary.experiments.jobs, "job")
        table.add_row("experiments", f"{summary.experiments.experiments:,}, of {of_jobs}")
    if summary.cpus is not None:
        table.add_row("CPUs", _request_text(summary.cpus, lambda cpus: f"{cpus:,g}"))
    if summary.memory_bytes is not None:
        table.add_row("memory", _request_text(summary.memory_bytes, bytes_text))
    return table


def _elastic(elastic: ElasticJobs, jobs: int) -> str:
    known = {
        "a loss curve": elastic.with_curve,
        "a target loss": elastic.with_target,
        "servers": elastic.with_servers,
    }
    parts = [f"{elastic.jobs:,} of {count_text(jobs, 'job')}"]
    parts += [f"{count:,} with {name}" for name, count in known.items() if count]
    return f"{', '.join(parts)}; their durations are those on the full request"


def _request_text(requested: RequestStatistics, text: Callable[[float], str]) -> str:
    verb = "asks" if requested.jobs == 1 else "ask"
    span = text(requested.max)
    if requested.min < requested.max:
        span = f"{text(requested.min)} to {span}, {text(requested.median)} in the median"
    return f"{count_text(requested.jobs, 'job')} {verb} for {span}"


def _durations(summary: TraceSummary) -> str:
    at = summary.duration_s
    shown = {"5 %": "p5", "25 %": "p25", "median": "median", "75 %": "p75", "95 %": "p95"}
    parts = [f"{label} {long_text(at[name])}" for label, name in shown.items()]
    return f"{', '.join(parts)}, 99 % {long_text(at['p99'])}, max {long_text(at['max'])}"


def _arrivals(summary: TraceSummary) -> str:
    gaps = summary.interarrival_s
    if gaps["cv"] is None:
        return "all at once"
    cv = gaps["cv"]
    kind = "like Poisson" if cv >= _POISSON_BELOW else "steady"
    kind = "bursty" if cv > _BURSTY_ABOVE else kind
    return (
        f"over {long_text(summary.span_s)}, one every {long_text(gaps['mean'] or 0.0)} on average "
        f"(median {long_text(gaps['median'] or 0.0)}); coefficient of variation {cv:.2f}: {kind}"
    )


def _logged(logged: LoggedTimes) -> str:
    jct, delay = logged.jct_s, logged.delay_s
    return (
        f"{long_text(jct['mean'])} from submission to end on average (median "
        f"{long_text(jct['median'])}), {long_text(delay['mean'])} of it without GPUs (median "
        f"{long_text(delay['median'])})"
    )


def _load(cluster: ClusterLoad) -> str:
    shape = f"{cluster.machines:,} machines, {cluster.gpus:,} GPUs"
    least = f"at least {long_text(cluster.shortest_makespan_s)} of work"
    if cluster.load is None:
        return f"{shape}: {least}"
    verdict = "overloaded while jobs arrive" if cluster.load > 1 else "enough in the long run"
    return f"{shape}: load {cluster.load:.2f}, {verdict}; {least}"


def long_text(time_s: float) -> str:
    """As `duration_text`; in days from two days on."""
    return f"{time_s / _DAY_S:,.1f} d" if time_s >= 2 * _DAY_S else duration_text(time_s)
