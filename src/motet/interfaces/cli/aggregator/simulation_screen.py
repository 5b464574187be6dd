"""The page that `motet aggregator simulate` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.domain.units import duration_words
from motet.report.rendering.fitting_table import result_table
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import count_text, quantity
from motet.sim.aggregation.history import ServiceHistory
from motet.sim.aggregation.summary import ServiceSummary


@dataclass(frozen=True, eq=False)
class SimulatedPool:
    """A finished simulation. `of_jobs`: jobs of the log, with those that are not distributed."""

    name: str
    of_jobs: int
    loss_limit: float
    queue_limits: Mapping[str, float]
    history: ServiceHistory
    summary: ServiceSummary

    @property
    def heading(self) -> str:
        """What was simulated."""
        at_us = self.history.at_us
        jobs = f"{self.summary.jobs:,} distributed of {count_text(self.of_jobs, 'job')}"
        return f"{jobs} of {self.name}, {duration_words(int(at_us[-1] - at_us[0]))}"


def simulation_page(shown: SimulatedPool, out: Path | None) -> RenderableType:
    """Numbers of servers and Aggregators, then ratios, losses and moves."""
    files = [] if out is None else [Text(f"Files: {out}", style=QUIET_STYLE)]
    heading = Text(shown.heading, style="bold")
    return Group(heading, Text(), _numbers(shown.summary), Text(), _facts(shown), *files)


def _numbers(summary: ServiceSummary) -> Table:
    table = result_table()
    for name in ("", "mean", "most", "server-hours", "CPU time saved"):
        table.add_column(name, justify="right" if name else "left")
    table.add_row(
        "servers of each job's own",
        f"{summary.mean_servers:,.1f}",
        f"{summary.most_servers:,}",
        quantity(summary.server_hours),
        "",
    )
    table.add_row(
        "Aggregators of a shared pool",
        f"{summary.mean_aggregators:,.1f}",
        f"{summary.most_aggregators:,}",
        quantity(summary.aggregator_hours),
        Text(f"{summary.saved:.1%}", style="bold"),
    )
    return table


def _facts(shown: SimulatedPool) -> Table:
    summary = shown.summary
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style=QUIET_STYLE)
    table.add_column(overflow="fold")
    table.add_row(
        "ratio in a minute",
        f"below 1 for {summary.below_one:.2%} of the time; median {summary.median_ratio:.2f}, "
        f"99 % {summary.p99_ratio:.2f}, largest {summary.largest_ratio:.2f}",
    )
    table.add_row(
        "predicted loss",
        f"{summary.mean_loss:.2%} of the speed on average, {summary.largest_loss:.1%} at most; "
        f"the limit is {shown.loss_limit:.0%}",
    )
    for name, limit in shown.queue_limits.items():
        if name in summary.queue_losses:
            mean, largest = summary.queue_losses[name]
            table.add_row(
                f"in queue {name}", f"{mean:.2%} on average, {largest:.1%} at most; {limit:.0%}"
            )
    own = summary.own_hours / summary.aggregator_hours
    table.add_row(
        "Aggregators of one job",
        f"{own:.1%} of the Aggregators' time, for jobs that are measured or wait",
    )
    table.add_row(
        "moves",
        f"tensors of a job within the pool {summary.moves:,} times, "
        f"{count_text(summary.moved_tensors, 'tensor')} in all",
    )
    if summary.spreads:
        table.add_row(
            "measured losses", f"gave a job one more Aggregator {summary.spreads:,} times"
        )
    return table
