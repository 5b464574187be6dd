"""Table that `motet simulate` prints: a row per policy (and value of a swept parameter)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.report.cluster_run.run_label import Document, run_label, sweep_of, value_text
from motet.report.rendering.confidence import CONFIDENCE, confidence_half_width
from motet.report.rendering.fitting_table import ExplainedTable, FittingTable, result_table
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.rendering.quantities import quantity, uncertainty_text
from motet.report.simulation.group_estimates import GroupEstimates, different_results
from motet.report.simulation.metric_tables import FAIRNESS_TABLE, QUALITY_TABLE
from motet.report.simulation.missing_inputs import (
    MISSING_MARK,
    lacks_needed_inputs,
    missing_input_notes,
)
from motet.report.simulation.restart_notes import restart_notes, restoring_share

Groups = Mapping[str, Sequence[Document]]

BEST_STYLE = "bold green"
LEAST_IMPORTANT = 3


def simulation_summary(
    heading: str, documents: Sequence[Document], out: Path | None
) -> RenderableType:
    """Heading, tables and notes; means with confidence intervals where several seeds ran."""
    given = documents_by_label(documents)
    groups = {label: different_results(same) for label, same in given.items()}
    tables = [_times_table(groups), *_metric_tables(groups)]
    notes = missing_input_notes(documents)
    seeds = max(map(len, groups.values()))
    if seeds > 1:
        notes.append(f"± {CONFIDENCE:.0%} confidence interval of the mean over {seeds} seeds.")
    notes += [
        f"{label}: all {len(same)} seeds give the same result, so there is no interval."
        for label, same in given.items()
        if seeds > 1 and len(groups[label]) == 1
    ]
    if seeds == 1 and (most := max(map(len, given.values()))) > 1:
        notes.append(f"All {most} seeds give the same result, so there are no intervals.")
    notes += restart_notes(documents)
    if out is not None:
        notes.append(f"Files: {out}")
    return Group(
        Text(heading, style="bold"),
        *(Padding(table, (1, 0, 0, 0)) for table in tables),
        *(Text(note, style=QUIET_STYLE) for note in notes),
    )


def documents_by_label(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """Groups of documents that differ in their seed only, by label."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(run_label(document), []).append(document)
    return groups


def _metric_tables(groups: Groups) -> list[FittingTable]:
    """Quality where it is known, and fairness where there are several policies."""
    estimates = [GroupEstimates(label, same) for label, same in groups.items()]
    wanted = (QUALITY_TABLE,) if len(groups) == 1 else (FAIRNESS_TABLE, QUALITY_TABLE)
    return [table.rendered(estimates) for table in wanted if table.has_values(estimates)]


def _times_table(groups: Groups) -> FittingTable:
    """The table in several widths: the least important columns are left out first."""
    documents = [document for same in groups.values() for document in same]
    columns = (*_COLUMNS, _MAX_RHO) if len(groups) == 1 else _COLUMNS
    choices = []
    for importance in range(LEAST_IMPORTANT, -1, -1):
        shown = [column for column in columns if column.is_shown(documents, importance)]
        choices.append(_with_legend(_table(groups, shown), shown))
    return FittingTable(choices)


def _with_legend(table: Table, shown: Sequence[_Column]) -> ExplainedTable:
    meanings = [f"{column.title}: {column.meaning}" for column in shown if column.meaning]
    return ExplainedTable(table, Text(f"Seconds. {'; '.join(meanings)}.", style=QUIET_STYLE))


def _table(groups: Groups, columns: Sequence[_Column]) -> Table:
    table = result_table()
    table.add_column("policy", no_wrap=True)
    swept = [sweep_of(same[0]) for same in groups.values()]
    parameters = dict.fromkeys(sweep.parameter for sweep in swept if sweep is not None)
    for parameter in parameters:
        table.add_column(parameter, justify="right", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    best = [_best(groups, column) for column in columns]
    for place, (same, sweep) in enumerate(zip(groups.values(), swept, strict=True)):
        cells = [_cell(same, column, least) for column, least in zip(columns, best, strict=True)]
        mark = MISSING_MARK if lacks_needed_inputs(same[0]) else ""
        name = Text.assemble(("● ", job_colour(place)), (same[0]["policy"], "bold"), mark)
        values = ["" if sweep is None else value_text(sweep.value)] * len(parameters)
        table.add_row(name, *values, *cells)
    return table


def _cell(same: Sequence[Document], column: _Column, best: float | None) -> Text:
    values = [column.pick(document) for document in same]
    mean = math.fsum(values) / len(values)
    text = column.write(mean)
    if len(values) > 1 and column.importance == 0:
        text += f" ±{uncertainty_text(confidence_half_width(values))}"
    return Text(text, style=BEST_STYLE if best is not None and mean == best else "")


def _best(groups: Groups, column: _Column) -> float | None:
    """The smallest mean, if less is better and the means differ."""
    means = [math.fsum(map(column.pick, same)) / len(same) for same in groups.values()]
    return min(means) if column.less_is_better and len(set(means)) > 1 else None


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or not share else f"{share:.1%}"


def _share_of_delay(cause: str) -> Callable[[Document], float]:
    def share(run: Document) -> float:
        causes: Mapping[str, float] = run["delay_causes_s"]
        whole = math.fsum(causes.values())
        return causes[cause] / whole if whole else 0.0

    return share


@dataclass(frozen=True)
class _Column:
    """`importance`: columns with the largest value are left out first, those with 0 never.

    `meaning`: text of the legend; empty if the title is enough. `is_optional`: left out where the
    value is 0 in every run.
    """

    title: str
    importance: int
    pick: Callable[[Document], float]
    write: Callable[[float], str] = quantity
    meaning: str = ""
    is_optional: bool = False
    less_is_better: bool = True

    def is_shown(self, documents: Iterable[Document], importance: int) -> bool:
        """Whether the column belongs to a table of this importance."""
        return self.importance <= importance and (
            not self.is_optional or any(map(self.pick, documents))
        )


_optional = partial(_Column, is_optional=True, less_is_better=False)
_used = "share of GPUs that jobs held"
_COLUMNS = (
    _optional("left", 1, lambda run: run["jobs"] - run["finished"], _count, "jobs unfinished"),
    _Column("JCT mean", 0, lambda run: run["jct_s"]["mean"], meaning="submission to completion"),
    _Column("median", 0, lambda run: run["jct_s"]["median"]),
    _Column("95th", 0, lambda run: run["jct_s"]["p95"]),
    _Column("delay", 0, lambda run: run["queueing_delay_s"]["mean"], meaning="time without GPUs"),
    _optional(
        "by share",
        2,
        _share_of_delay("fair_share"),
        _percent,
        "part of that while the job's queue held its share or more",
    ),
    _optional(
        "by fragm.",
        2,
        _share_of_delay("fragmentation"),
        _percent,
        "part of that while free GPUs were too far apart or short of CPUs or memory",
    ),
    _Column("makespan", 2, lambda run: run["makespan_s"], meaning="first submission to last end"),
    _Column("used", 1, lambda run: run["gpu_utilization"], _percent, _used, less_is_better=False),
    _optional("preempted", 1, lambda run: run["preemptions"], _count),
    _optional(
        "restoring",
        2,
        restoring_share,
        _percent,
        "part of the time on GPUs in checkpoints and restores",
    ),
    _optional("migrated", 3, lambda run: run["migrations"], _count),
)
_MAX_RHO = _Column(
    "max rho",
    3,
    lambda run: run["finish_time_fairness"]["max"],
    meaning="worst slowdown against a fair share",
)
"""Shown for a single policy; several policies have a table of fairness."""
