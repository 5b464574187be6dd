"""Finished simulations side by side: how many times longer, who wins, who loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.report.palette import QUIET_STYLE, job_colour
from motet.report.simulated_jobs import SimulatedJobs, paired
from motet.report.simulation_table import quantity, result_table

Floats = NDArray[np.float64]

MEASURES = ("mean", "median", "p95")
TOLERANCE = 0.01
EXTREMES = 5


@dataclass(frozen=True)
class Move:
    """A job that moved far. `ratio`: its completion time over that under the first policy."""

    job_id: str
    before_s: float
    after_s: float
    ratio: float


@dataclass(frozen=True)
class WinnersAndLosers:
    """Jobs that finish under both. Winners are done at least 1 % sooner than under the first.

    `jobs`: how many finished under both. `winners_ratio`, `losers_ratio`: geometric means of their
    ratios (1 if there are none). `most_won`, `most_lost`: by seconds.
    """

    policy: str
    against: str
    jobs: int
    winners: int
    losers: int
    winners_ratio: float
    losers_ratio: float
    most_won: list[Move]
    most_lost: list[Move]

    @classmethod
    def of(cls, first: SimulatedJobs, second: SimulatedJobs) -> WinnersAndLosers:
        """The second against the first."""
        same = paired(first, second)
        ratio = np.maximum(same.after_s, 1e-6) / np.maximum(same.before_s, 1e-6)
        wins, loses = ratio < 1 - TOLERANCE, ratio > 1 + TOLERANCE
        by_gain = np.argsort(same.after_s - same.before_s, kind="stable")

        def moves(rows: NDArray[np.int64]) -> list[Move]:
            cells = (same.before_s, same.after_s, ratio)
            return [Move(same.ids[row], *(float(c[row]) for c in cells)) for row in rows]

        return cls(
            second.label,
            first.label,
            len(ratio),
            int(wins.sum()),
            int(loses.sum()),
            _geometric_mean(ratio[wins]),
            _geometric_mean(ratio[loses]),
            moves(by_gain[wins[by_gain]][:EXTREMES]),
            moves(by_gain[loses[by_gain]][::-1][:EXTREMES]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def relative_jct(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, float]:
    """Completion times over the first's, as in Tiresias' table of its trace-driven simulation."""
    return {name: _ratio(other["jct_s"][name], first["jct_s"][name]) for name in MEASURES}


def _ratio(value: float | None, base: float | None) -> float:
    return value / base if value is not None and base else float("nan")


def comparison(
    labels: Sequence[str],
    documents: Sequence[Mapping[str, Any]],
    duels: Sequence[WinnersAndLosers],
    notes: Sequence[str],
) -> RenderableType:
    """Both tables, and the jobs that moved most where there are two runs."""
    parts: list[RenderableType] = [Padding(_relative_table(labels, documents), (1, 0))]
    if duels:
        parts.append(Padding(_duel_table(duels), (0, 0, 1, 0)))
    if len(duels) == 1 and duels[0].winners + duels[0].losers:
        parts.append(Padding(_moves_table(duels[0]), (0, 0, 1, 0)))
    return Group(*parts, *(Text(note, style=QUIET_STYLE) for note in notes))


def _relative_table(labels: Sequence[str], documents: Sequence[Mapping[str, Any]]) -> Table:
    table = result_table()
    table.add_column("run", no_wrap=True)
    titles = ("JCT mean", "median", "95th", "x mean", "x median", "x 95th", "delay", "preempted")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for place, (label, document) in enumerate(zip(labels, documents, strict=True)):
        times = [quantity(_number(document["jct_s"][name])) for name in MEASURES]
        ratios = [_ratio_text(value) for value in relative_jct(documents[0], document).values()]
        name = Text.assemble(("● ", job_colour(place)), (label, "bold"))
        delay = quantity(_number(document["queueing_delay_s"]["mean"]))
        table.add_row(name, *times, *ratios, delay, f"{document['preemptions']:,}")
    return table


def _duel_table(duels: Sequence[WinnersAndLosers]) -> Table:
    table = result_table()
    table.add_column(f"against {duels[0].against}", no_wrap=True)
    for title in ("sooner", "x", "later", "x", "same"):
        table.add_column(title, justify="right", no_wrap=True)
    for place, duel in enumerate(duels, start=1):
        table.add_row(
            Text.assemble(("● ", job_colour(place)), (duel.policy, "bold")),
            Text(f"{duel.winners:,}", style="green"),
            _ratio_text(duel.winners_ratio) if duel.winners else "-",
            Text(f"{duel.losers:,}", style="red"),
            _ratio_text(duel.losers_ratio) if duel.losers else "-",
            f"{duel.jobs - duel.winners - duel.losers:,}",
        )
    return table


def _moves_table(duel: WinnersAndLosers) -> Table:
    table = result_table()
    for title in ("job", duel.against, duel.policy, "x"):
        table.add_column(title, justify="left" if title == "job" else "right", no_wrap=True)
    for colour, moves in (("green", duel.most_won), ("red", duel.most_lost)):
        for move in moves:
            times = quantity(move.before_s), quantity(move.after_s)
            table.add_row(move.job_id, *times, Text(_ratio_text(move.ratio), style=colour))
    return table


def _ratio_text(ratio: float) -> str:
    return "-" if np.isnan(ratio) else f"{ratio:.2f}"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _geometric_mean(ratios: Floats) -> float:
    return float(np.exp(np.log(ratios).mean())) if len(ratios) else 1.0
