"""Tables of metrics beside completion times: finish-time fairness and quality of models.

A table has a row per policy. Fairness is Themis' rho, quality is SLAQ's normalised loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rich.table import Table
from rich.text import Text

from motet.report.cluster_run.quality import LOSS_GROUPS
from motet.report.rendering.fitting_table import ExplainedTable, FittingTable, result_table
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import quantity, uncertainty_text
from motet.report.simulation.group_estimates import Estimate, GroupEstimates, GroupKeys, number

FAIRNESS, QUALITY = "finish_time_fairness", "quality"
MEAN_RHO, MAX_RHO, JAIN = (FAIRNESS, "mean"), (FAIRNESS, "max"), (FAIRNESS, "jain")
WITHIN_SHARE = (FAIRNESS, "within_share")
LOSS, RESCALES = (QUALITY, "average_normalised_loss"), (QUALITY, "rescales")
TO_90, TO_95 = (QUALITY, "time_to_90_s"), (QUALITY, "time_to_95_s")
GPU_SHARES = tuple((QUALITY, "gpu_share_by_loss", group) for group in LOSS_GROUPS)
SMALL_RATIO = 0.1


@dataclass(frozen=True)
class MetricColumn:
    """`importance`: columns with the largest value are left out first, those with 0 never.

    `is_ratio`: shown only where groups are compared.
    """

    title: str
    importance: int
    cell: Callable[[GroupEstimates], str]
    is_ratio: bool = False


@dataclass(frozen=True)
class MetricTable:
    """`key`: of the metrics in the documents. `main`: the metric without which a row has no values.

    `metrics`: paths of all numbers that are compared. `legend`: line below the table.
    """

    name: str
    key: str
    main: GroupKeys
    metrics: Sequence[GroupKeys]
    columns: Sequence[MetricColumn]
    legend: str

    def has_values(self, groups: Sequence[GroupEstimates]) -> bool:
        """Whether any run has the main metric."""
        documents = (each for group in groups for each in group.documents)
        return any(not math.isnan(number(each, self.main)) for each in documents)

    def rendered(self, groups: Sequence[GroupEstimates]) -> FittingTable:
        """The table in several widths; with ratios only if groups have pairs."""
        is_compared = any(group.pairs for group in groups)
        shown = [each for each in self.columns if is_compared or not each.is_ratio]
        legend = Text(self.legend, style=QUIET_STYLE)
        levels = sorted({each.importance for each in shown}, reverse=True)
        return FittingTable(
            [
                ExplainedTable(
                    self._table(groups, [it for it in shown if it.importance <= level]), legend
                )
                for level in levels
            ]
        )

    def _table(self, groups: Sequence[GroupEstimates], columns: Sequence[MetricColumn]) -> Table:
        table = result_table()
        table.add_column(self.name, overflow="fold")
        for column in columns:
            table.add_column(column.title, justify="right", no_wrap=True)
        for place, group in enumerate(groups):
            cells = [column.cell(group) for column in columns]
            table.add_row(name_cell(place, group.label), *cells)
        return table


def name_cell(place: int, label: str) -> Text:
    """The label of a policy with its colour."""
    return Text.assemble(("● ", job_colour(place)), (label, "bold"))


def ratio_text(ratio: Estimate) -> str:
    """`0.30 ±0.06`; ratios below SMALL_RATIO have three digits."""
    if math.isnan(ratio.mean):
        return "-"
    digits = 2 if ratio.mean >= SMALL_RATIO else 3
    # The half-width of the first group's ratios to itself is 0 and is not shown.
    return f"{ratio.mean:.{digits}f}" + (
        f" ±{ratio.half_width:.{digits}f}" if ratio.half_width else ""
    )


def _value(
    keys: GroupKeys,
    write: Callable[[float], str],
    write_width: Callable[[float], str] | None = None,
) -> Callable[[GroupEstimates], str]:
    """The mean, and its interval unless a column of ratios shows one."""

    def cell(group: GroupEstimates) -> str:
        mean, half_width = group.estimate(keys)
        if math.isnan(mean):
            return "-"
        has_interval = half_width is not None and not group.pairs
        width = (write_width or write)(half_width or 0.0)
        return f"{write(mean)} ±{width}" if has_interval else write(mean)

    return cell


def _ratio(keys: GroupKeys) -> Callable[[GroupEstimates], str]:
    return lambda group: ratio_text(group.relative(keys))


def _worst(group: GroupEstimates) -> str:
    """The experiment with the largest rho; with its seed if there are several."""
    known = [each for each in group.documents if not math.isnan(number(each, MAX_RHO))]
    if not known:
        return "-"
    worst = max(known, key=lambda each: number(each, MAX_RHO))
    name = worst[FAIRNESS].get("worst") or "-"
    return f"{name}, seed {worst['seed']}" if len(group.documents) > 1 else str(name)


def _gpu_shares(group: GroupEstimates) -> str:
    shares = [group.estimate(keys).mean for keys in GPU_SHARES]
    return "-" if math.isnan(sum(shares)) else f"{'/'.join(f'{100 * it:.0f}' for it in shares)} %"


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


_ratio_column = partial(MetricColumn, is_ratio=True)
FAIRNESS_TABLE = MetricTable(
    "fairness",
    FAIRNESS,
    MAX_RHO,
    (MEAN_RHO, MAX_RHO, JAIN, WITHIN_SHARE),
    (
        MetricColumn("max rho", 0, _value(MAX_RHO, "{:.2f}".format)),
        _ratio_column("x max", 0, _ratio(MAX_RHO)),
        MetricColumn("mean", 0, _value(MEAN_RHO, "{:.2f}".format)),
        _ratio_column("x mean", 0, _ratio(MEAN_RHO)),
        MetricColumn("Jain", 0, _value(JAIN, "{:.2f}".format)),
        MetricColumn("rho <= 1", 1, _value(WITHIN_SHARE, _percent)),
        MetricColumn("worst", 2, _worst),
    ),
    "rho: how many times as long as on a fair share an experiment (or a job alone) took; Jain: 1 "
    "where all rho are equal.",
)
QUALITY_TABLE = MetricTable(
    "quality",
    QUALITY,
    LOSS,
    (LOSS, TO_90, TO_95, RESCALES, *GPU_SHARES),
    (
        MetricColumn("loss", 1, _value(LOSS, "{:.3f}".format)),
        _ratio_column("x loss", 0, _ratio(LOSS)),
        MetricColumn("to 90 %", 2, _value(TO_90, quantity, uncertainty_text)),
        _ratio_column("x 90 %", 0, _ratio(TO_90)),
        MetricColumn("to 95 %", 3, _value(TO_95, quantity, uncertainty_text)),
        _ratio_column("x 95 %", 0, _ratio(TO_95)),
        MetricColumn("GPUs by loss", 0, _gpu_shares),
        MetricColumn("rescales", 4, _value(RESCALES, _count)),
    ),
    "loss: average of the jobs that are there, 1 at first and 0 at best; 90 %: seconds until that "
    "part of a job's reduction; GPUs by loss: of the quarter of jobs with the highest losses, the "
    "next quarter, the lowest half.",
)
METRIC_TABLES = (FAIRNESS_TABLE, QUALITY_TABLE)
