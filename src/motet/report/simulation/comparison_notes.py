"""Notes of `motet compare`: units, seeds, missing data, and warnings about unequal conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from motet.report.rendering.quantities import count_text
from motet.report.simulation.comparison_tables import JCT, has_tables, is_asked_for
from motet.report.simulation.group_estimates import number
from motet.report.simulation.metric_tables import (
    FAIRNESS_TABLE,
    METRIC_TABLES,
    QUALITY_TABLE,
    WITHIN_SHARE,
)
from motet.report.simulation.missing_inputs import missing_input_notes
from motet.report.simulation.restart_notes import busy_restoring_notes, cost_setting
from motet.report.simulation.seed_groups import PairedGroups, SeedGroup


def comparison_notes(
    groups: Sequence[PairedGroups], asked: Collection[str], out: Path | None
) -> list[str]:
    """Lines below the tables. `asked`: names of tables (empty: all). `out`: folder of the files."""
    notes = list(_notes_of_missing_data(groups, asked))
    if has_tables(groups, asked):
        documents = [run.document for group in groups for run in group.other.runs.values()]
        notes = [*_notes_of_units(groups, asked), *_notes_of_seeds(groups), *notes]
        notes += [*missing_input_notes(documents), *busy_restoring_notes(documents)]
    return notes if out is None else [*notes, f"Files: {out}"]


def comparison_warnings(groups: Sequence[PairedGroups]) -> list[str]:
    """Lines above the tables."""
    warnings = []
    by_cost = _labels_by_cost(groups)
    if len(by_cost) > 1:
        costs = "; ".join(f"{', '.join(labels)}: {cost}" for cost, labels in by_cost.items())
        warnings.append(
            f"These runs charge different costs for a restart ({costs}); ratios include that "
            "difference."
        )
    return warnings


def _labels_by_cost(groups: Sequence[PairedGroups]) -> dict[str, list[str]]:
    """Labels of the groups under each cost setting; earlier versions did not record it."""
    found: dict[str, list[str]] = {}
    for group in groups:
        document = next(iter(group.other.runs.values())).document
        if setting := cost_setting(document):
            found.setdefault(setting, []).append(group.other.label)
    return found


def _notes_of_units(groups: Sequence[PairedGroups], asked: Collection[str]) -> Iterator[str]:
    units = "Seconds; x: times the first's."
    if is_asked_for(JCT, asked) and len(groups) > 1:
        units += " Sooner, later: jobs that moved by more than 1 %."
    seeds = max(len(group.other.runs) for group in groups)
    different = max(group.estimates.result_count for group in groups)
    yield f"Means over {seeds} seeds. {units}" if different > 1 else units
    if different > 1:
        yield "Ratios are of runs with the same seed; ± 95 % interval of their mean."
    elif seeds > 1:
        yield f"All {seeds} seeds give the same result, so there are no intervals."


def _notes_of_seeds(groups: Sequence[PairedGroups]) -> Iterator[str]:
    for group in groups:
        if len(group.by_seed) < max(len(group.first.runs), len(group.other.runs)):
            yield (
                f"{group.other.label}: its ratios are over "
                f"{count_text(len(group.by_seed), 'seed')}, of those that {group.first.label} ran "
                "with, too."
            )


def _notes_of_missing_data(groups: Sequence[PairedGroups], asked: Collection[str]) -> Iterator[str]:
    estimates = [group.estimates for group in groups]
    for table in METRIC_TABLES:
        if table.name in asked and not table.has_values(estimates):
            why = "no job has a loss curve" if table is QUALITY_TABLE else "no job finished"
            yield f"No {table.name} to compare: {why}."
    for table, is_missing, what in (
        (
            FAIRNESS_TABLE,
            _has_no_experiments,
            "in fairness.png every job counts, not an experiment once",
        ),
        (
            QUALITY_TABLE,
            _has_no_quality_over_time,
            "no quality.csv, so no losses over time and no GPUs by loss",
        ),
    ):
        old = [group.other.label for group in groups if is_missing(group.other)]
        if old and is_asked_for(table.name, asked):
            yield f"From an earlier version, to be simulated again: {', '.join(old)} ({what})."


def _has_no_experiments(group: SeedGroup) -> bool:
    key, name = WITHIN_SHARE
    return any(name not in run.document.get(key, {}) for run in group.runs.values())


def _has_no_quality_over_time(group: SeedGroup) -> bool:
    return any(
        run.cluster_run.quality is None and number(run.document, QUALITY_TABLE.main) >= 0
        for run in group.runs.values()
    )
