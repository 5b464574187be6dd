"""What policies are judged by beside completion times: how fair they are, how good their models.

A view is a table with a row per policy. Fairness is Themis' rho, quality is SLAQ's loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rich.table import Table
from rich.text import Text

from motet.report.cluster_run.quality import LOSS_GROUPS
from motet.report.cluster_run.standing import Estimate, Keys, Standing, number
from motet.report.rendering.fitting_table import Explained, Fitting, result_table
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import quantity, uncertainty_text

FAIRNESS, QUALITY = "finish_time_fairness", "quality"
MEAN_RHO, MAX_RHO, JAIN = (FAIRNESS, "mean"), (FAIRNESS, "max"), (FAIRNESS, "jain")
WITHIN_SHARE = (FAIRNESS, "within_share")
LOSS, RESCALES = (QUALITY, "average_normalised_loss"), (QUALITY, "rescales")
TO_90, TO_95 = (QUALITY, "time_to_90_s"), (QUALITY, "time_to_95_s")
GPU_SHARES = tuple((QUALITY, "gpu_share_by_loss", group) for group in LOSS_GROUPS)
SMALL_RATIO = 0.1


@dataclass(frozen=True)
class Column:
    """`importance`: 0 first. `compared`: only where there is a policy to compare with."""

    title: str
    importance: int
    cell: Callable[[Standing], str]
    compared: bool = False


@dataclass(frozen=True)
class View:
    """`key`: of the documents, of which `main` tells whether there is anything to show.

    `measures`: all numbers that are compared.
    """

    name: str
    key: str
    main: Keys
    measures: Sequence[Keys]
    columns: Sequence[Column]
    legend: str

    def is_known(self, standings: Sequence[Standing]) -> bool:
        """Whether a run has it."""
        documents = (each for standing in standings for each in standing.documents)
        return any(not math.isnan(number(each, self.main)) for each in documents)

    def table(self, standings: Sequence[Standing]) -> Fitting:
        """With fewer columns where there is no room; ratios only if there are pairs."""
        is_compared = any(standing.pairs for standing in standings)
        shown = [each for each in self.columns if is_compared or not each.compared]
        legend = Text(self.legend, style=QUIET_STYLE)
        levels = sorted({each.importance for each in shown}, reverse=True)
        return Fitting(
            [
                Explained(
                    self._table(standings, [it for it in shown if it.importance <= level]), legend
                )
                for level in levels
            ]
        )

    def _table(self, standings: Sequence[Standing], columns: Sequence[Column]) -> Table:
        table = result_table()
        table.add_column(self.name, overflow="fold")
        for column in columns:
            table.add_column(column.title, justify="right", no_wrap=True)
        for place, standing in enumerate(standings):
            cells = [column.cell(standing) for column in columns]
            table.add_row(name_cell(place, standing.label), *cells)
        return table


def name_cell(place: int, label: str) -> Text:
    """A policy in its colour."""
    return Text.assemble(("● ", job_colour(place)), (label, "bold"))


def ratio_text(ratio: Estimate) -> str:
    """`0.30 ±0.06`; small ones have a digit more."""
    if math.isnan(ratio.mean):
        return "-"
    digits = 2 if ratio.mean >= SMALL_RATIO else 3
    # The first against itself is 1 for certain.
    return f"{ratio.mean:.{digits}f}" + (
        f" ±{ratio.half_width:.{digits}f}" if ratio.half_width else ""
    )


def _value(
    keys: Keys, write: Callable[[float], str], write_width: Callable[[float], str] | None = None
) -> Callable[[Standing], str]:
    """The mean; with its interval where there are no ratios that have one."""

    def cell(standing: Standing) -> str:
        mean, half_width = standing.estimate(keys)
        if math.isnan(mean):
            return "-"
        has_interval = half_width is not None and not standing.pairs
        width = (write_width or write)(half_width or 0.0)
        return f"{write(mean)} ±{width}" if has_interval else write(mean)

    return cell


def _ratio(keys: Keys) -> Callable[[Standing], str]:
    return lambda standing: ratio_text(standing.relative(keys))


def _worst(standing: Standing) -> str:
    """Of all seeds, and of which if there are several."""
    known = [each for each in standing.documents if not math.isnan(number(each, MAX_RHO))]
    if not known:
        return "-"
    worst = max(known, key=lambda each: number(each, MAX_RHO))
    name = worst[FAIRNESS].get("worst") or "-"
    return f"{name}, seed {worst['seed']}" if len(standing.documents) > 1 else str(name)


def _gpu_shares(standing: Standing) -> str:
    shares = [standing.estimate(keys).mean for keys in GPU_SHARES]
    return "-" if math.isnan(sum(shares)) else f"{'/'.join(f'{100 * it:.0f}' for it in shares)} %"


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


_ratio_column = partial(Column, compared=True)
FAIRNESS_VIEW = View(
    "fairness",
    FAIRNESS,
    MAX_RHO,
    (MEAN_RHO, MAX_RHO, JAIN, WITHIN_SHARE),
    (
        Column("max rho", 0, _value(MAX_RHO, "{:.2f}".format)),
        _ratio_column("x max", 0, _ratio(MAX_RHO)),
        Column("mean", 0, _value(MEAN_RHO, "{:.2f}".format)),
        _ratio_column("x mean", 0, _ratio(MEAN_RHO)),
        Column("Jain", 0, _value(JAIN, "{:.2f}".format)),
        Column("rho <= 1", 1, _value(WITHIN_SHARE, _percent)),
        Column("worst", 2, _worst),
    ),
    "rho: how many times as long as on a fair share an experiment (or a job alone) took; Jain: 1 "
    "where all rho are equal.",
)
QUALITY_VIEW = View(
    "quality",
    QUALITY,
    LOSS,
    (LOSS, TO_90, TO_95, RESCALES, *GPU_SHARES),
    (
        Column("loss", 1, _value(LOSS, "{:.3f}".format)),
        _ratio_column("x loss", 0, _ratio(LOSS)),
        Column("to 90 %", 2, _value(TO_90, quantity, uncertainty_text)),
        _ratio_column("x 90 %", 0, _ratio(TO_90)),
        Column("to 95 %", 3, _value(TO_95, quantity, uncertainty_text)),
        _ratio_column("x 95 %", 0, _ratio(TO_95)),
        Column("GPUs by loss", 0, _gpu_shares),
        Column("rescales", 4, _value(RESCALES, _count)),
    ),
    "loss: average of the jobs that are there, 1 at first and 0 at best; 90 %: seconds until that "
    "part of a job's reduction; GPUs by loss: of the quarter of jobs with the highest losses, the "
    "next quarter, the lowest half.",
)
VIEWS = (FAIRNESS_VIEW, QUALITY_VIEW)
