"""The page that `motet memory simulate` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.domain.units import duration_words, microseconds
from motet.report.rendering.fitting_table import result_table
from motet.report.rendering.palette import QUIET_STYLE
from motet.sim.remote_memory.containers import LoadAssumptions
from motet.sim.remote_memory.replay import LendingHistory
from motet.sim.remote_memory.summary import PAPER_WITH, PAPER_WITHOUT, Balance, LendingSummary

_RATIOS = ("max/median", "99%/median", "max/min")


@dataclass(frozen=True, eq=False)
class SimulatedLending:
    """Finished simulations of the same containers. `without`: the balance without lending."""

    assumed: LoadAssumptions
    without: Balance
    histories: Sequence[LendingHistory]
    summaries: Sequence[LendingSummary]

    @property
    def heading(self) -> str:
        """What was simulated."""
        assumed = self.assumed
        containers = round(assumed.containers_per_machine * assumed.machines)
        words = duration_words(microseconds(assumed.steps))
        return f"{containers:,} containers on {assumed.machines:,} machines, {words}"


def lending_page(shown: SimulatedLending, out: Path | None) -> RenderableType:
    """Balance of each strategy beside the chapter's, then what it cost."""
    files = [] if out is None else [Text(f"Files: {out}", style=QUIET_STYLE)]
    heading = Text(shown.heading, style="bold")
    return Group(heading, Text(), _balances(shown), Text(), _costs(shown.summaries), *files)


def _balances(shown: SimulatedLending) -> Table:
    table = result_table()
    for name in ("memory use", "utilisation", *_RATIOS):
        table.add_column(name, justify="left" if name == "memory use" else "right")
    table.add_row("no remote memory", *_balance_cells(shown.without))
    for summary in shown.summaries:
        table.add_row(summary.name, *_balance_cells(summary.balance))
    for name, figures in (
        ("chapter, 32 machines, without", PAPER_WITHOUT),
        ("chapter, 32 machines, with", PAPER_WITH),
    ):
        cells = [Text(cell, style=QUIET_STYLE) for cell in _balance_cells(figures)]
        table.add_row(Text(name, style=QUIET_STYLE), *cells)
    return table


def _balance_cells(figures: Balance) -> list[str]:
    ratios = (figures.max_median, figures.p99_median, figures.max_min)
    cells = ["" if math.isnan(ratio) else f"{ratio:.2f}" for ratio in ratios]
    return [f"{figures.utilisation:.1%}", *cells]


def _costs(summaries: Sequence[LendingSummary]) -> Table:
    table = result_table()
    columns = ("slabs", "remote", "unused", "placed", "no room", "evicted", "busy", "pages/s")
    for name in columns:
        table.add_column(name, justify="left" if name == "slabs" else "right")
    for each in summaries:
        busy = each.busy_evictions / max(each.evictions, 1)
        table.add_row(
            each.name,
            f"{each.remote:.1%}",
            f"{each.unused:.1%}",
            *(f"{number:,}" for number in (each.placements, each.refused, each.evictions)),
            f"{busy:.1%}",
            f"{each.mean_evicted_rate:.0f}",
        )
    return table
