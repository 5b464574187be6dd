"""The table of `simulator.py` on the page of simulations."""

from __future__ import annotations

from collections.abc import Sequence

from support.hosts import ROOT
from support.pages import Row, put_into, table
from support.simulator_lines import BINS, LOG_TIMES, PHILLY, YEAR, Line, Taken

PAGE = ROOT / "docs" / "reference" / "simulate.md"
HEADING = "## What it cannot do"
_HEAD = (
    "policy",
    "cluster",
    "CPU-seconds",
    "limit",
    "decisions",
    "most jobs that wait",
    "peak memory",
    "load, date",
)
_TITLES = {
    PHILLY: "Philly's 82,247 jobs",
    BINS: "Jobs of Tiresias' sizes at a constant load",
    YEAR: "A million jobs, a year in the shape of Helios' clusters, reading included",
}


def write(lines: Sequence[Line], script: str) -> None:
    """A table per kind of workload, of what was measured."""
    known = [(line, taken) for line in lines if (taken := Taken.of(line)) is not None]
    parts = list[str]()
    for kind, title in _TITLES.items():
        rows = [_row(*each) for each in known if each[0].workload.startswith(kind)]
        if rows:
            parts += [f"{title}:", table(_HEAD, rows)]
    put_into(PAGE, "\n\n".join(parts), script, HEADING)
    print(f"written: {PAGE}")


def _row(line: Line, taken: Taken) -> Row:
    policy, limit = f"`{line.policy}`", "" if line.limit_s is None else f"{line.limit_s:g}"
    cpu = f"{taken.whole_s(line):.1f}"
    if line.workload.startswith(BINS):
        policy += f", {int(line.workload.rpartition('-')[2]):,} jobs"
    if line.workload == YEAR:
        cpu += f" ({taken.read_s:.1f} of them reading)"
    if line.with_log:
        policy += ", decision log"
        times = taken.cpu_s / taken.plain_s
        cpu += f"; {taken.plain_s:.1f} without: {times:.2f} times as long"
        limit = f"{LOG_TIMES:g} times"
    return (
        policy,
        line.cluster,
        cpu,
        limit,
        f"{taken.decisions:,}",
        f"{taken.most_waiting:,}",
        f"{taken.peak_bytes / 1e6:,.0f} MB",
        f"{taken.made['load']}, {taken.made['date']}",
    )
