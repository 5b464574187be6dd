"""Tables of `motet compare`: completion times, job ratios, fairness and quality side by side."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.report.rendering.fitting_table import FittingTable, result_table
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import quantity
from motet.report.simulation.job_ratios import JobRatios
from motet.report.simulation.metric_tables import METRIC_TABLES, MetricTable, name_cell, ratio_text
from motet.report.simulation.seed_groups import JCT_STATISTICS, PairedGroups

TITLES = {"mean": "JCT mean", "median": "median", "p95": "95th"}
RATIO_TITLES = {"mean": "x mean", "median": "x median", "p95": "x 95th"}
JCT = "jct"
ALL_COLUMNS, WITHOUT_EVENTS, RATIOS_ONLY = 2, 1, 0


def comparison_page(
    groups: Sequence[PairedGroups],
    ratios: Sequence[JobRatios],
    notes: Sequence[str],
    asked: Collection[str] = (),
    warnings: Sequence[str] = (),
) -> RenderableType:
    """The tables named in `asked` (`jct`, `fairness`, `quality`; empty: all that have values).

    `groups`: the first group paired with itself, then the others; `ratios`: of the others.
    `warnings` are shown above the tables, `notes` below them.
    """
    estimates = [group.estimates for group in groups]
    parts: list[RenderableType] = [Padding(Text(it), (0, 0, 1, 0)) for it in warnings]
    parts += _completion_times(groups, ratios) if is_asked_for(JCT, asked) else []
    shown = _shown_metric_tables(groups, asked)
    parts += [Padding(table.rendered(estimates), (0, 0, 1, 0)) for table in shown]
    return Group("", *parts, *(Text(note, style=QUIET_STYLE) for note in notes))


def has_tables(groups: Sequence[PairedGroups], asked: Collection[str]) -> bool:
    """Whether the page has any table."""
    return is_asked_for(JCT, asked) or bool(_shown_metric_tables(groups, asked))


def is_asked_for(table: str, asked: Collection[str]) -> bool:
    """Whether the table is named in `asked`; without names every table is."""
    return not asked or table in asked


def _shown_metric_tables(
    groups: Sequence[PairedGroups], asked: Collection[str]
) -> list[MetricTable]:
    estimates = [group.estimates for group in groups]
    return [
        table
        for table in METRIC_TABLES
        if is_asked_for(table.name, asked) and table.has_values(estimates)
    ]


def _completion_times(
    groups: Sequence[PairedGroups], ratios: Sequence[JobRatios]
) -> list[RenderableType]:
    """Completion times, job ratios and, with two policies, the jobs that differ most."""
    widths = (ALL_COLUMNS, WITHOUT_EVENTS, RATIOS_ONLY)
    tables = [FittingTable([_relative_table(groups, width) for width in widths])]
    if ratios:
        tables.append(FittingTable([_job_ratios_table(ratios)]))
    if len(ratios) == 1 and ratios[0].sooner + ratios[0].later:
        has_seeds = len(groups[0].other.runs) > 1
        tables.append(FittingTable([_largest_differences_table(ratios[0], has_seeds=has_seeds)]))
    return [Padding(table, (0, 0, 1, 0)) for table in tables]


def _relative_table(groups: Sequence[PairedGroups], columns: int) -> Table:
    table = result_table()
    table.add_column("run", overflow="fold")
    ratios = list(RATIO_TITLES.values())
    times = list(TITLES.values()) if columns >= WITHOUT_EVENTS else []
    events = ["delay", "preempted"] if columns >= ALL_COLUMNS else []
    for title in (*times, *ratios, *events):
        table.add_column(title, justify="right", no_wrap=True)
    for place, group in enumerate(groups):
        table.add_row(name_cell(place, group.other.label), *_relative_cells(group, columns))
    return table


def _relative_cells(group: PairedGroups, columns: int) -> list[str]:
    found = group.estimates
    cells = [ratio_text(found.relative(("jct_s", name))) for name in JCT_STATISTICS]
    if columns >= WITHOUT_EVENTS:
        times = [quantity(found.estimate(("jct_s", name)).mean) for name in JCT_STATISTICS]
        cells = times + cells
    if columns >= ALL_COLUMNS:
        cells.append(quantity(found.estimate(("queueing_delay_s", "mean")).mean))
        cells.append(f"{found.estimate(('preemptions',)).mean:,.0f}")
    return cells


def _job_ratios_table(ratios: Sequence[JobRatios]) -> Table:
    table = result_table()
    table.add_column(f"against {ratios[0].against}", overflow="fold")
    for title in ("sooner", "x", "later", "x", "same"):
        table.add_column(title, justify="right", no_wrap=True)
    for place, each in enumerate(ratios, start=1):
        table.add_row(
            name_cell(place, each.policy),
            Text(f"{each.sooner:,}", style="green"),
            f"{each.sooner_ratio:.2f}" if each.sooner else "-",
            Text(f"{each.later:,}", style="red"),
            f"{each.later_ratio:.2f}" if each.later else "-",
            f"{each.jobs - each.sooner - each.later:,}",
        )
    return table


def _largest_differences_table(ratios: JobRatios, *, has_seeds: bool) -> Table:
    table = result_table()
    table.add_column("job", overflow="fold")
    for title in (*(["seed"] if has_seeds else []), ratios.against, ratios.policy, "x"):
        table.add_column(title, justify="right", overflow="fold")
    for colour, jobs in (("green", ratios.largest_gains), ("red", ratios.largest_losses)):
        for job in jobs:
            seed = [str(job.seed)] if has_seeds else []
            times = quantity(job.before_s), quantity(job.after_s)
            table.add_row(job.job_id, *seed, *times, Text(f"{job.ratio:.2f}", style=colour))
    return table
