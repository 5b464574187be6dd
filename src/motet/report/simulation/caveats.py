"""What must be said of a comparison, so that nobody reads more into it than there is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from motet.report.cluster_run.metrics import FAIRNESS_VIEW, QUALITY_VIEW, VIEWS, WITHIN_SHARE
from motet.report.cluster_run.standing import number
from motet.report.rendering.quantities import count_text
from motet.report.simulation.comparison import JCT, has_tables, is_wanted
from motet.report.simulation.seed_groups import Contender, Match


def comparison_notes(
    matches: Sequence[Match], views: Collection[str], out: Path | None
) -> list[str]:
    """Below the tables. `views`: that were asked for. `out`: where files are."""
    notes = list(_of_what_is_missing(matches, views))
    if has_tables(matches, views):
        notes = [*_of_units(matches, views), *_of_seeds(matches), *notes]
    return notes if out is None else [*notes, f"Files: {out}"]


def warnings(matches: Sequence[Match]) -> list[str]:
    """What has to be known before any number is read."""
    if all(match.is_of_same_jobs for match in matches):
        return []
    return ["Some of these runs replay another trace than the first; ratios mean little."]


def _of_units(matches: Sequence[Match], views: Collection[str]) -> Iterator[str]:
    units = "Seconds; x: times the first's."
    if is_wanted(JCT, views) and len(matches) > 1:
        units += " Sooner, later: jobs that moved by more than 1 %."
    seeds = max(len(match.other.runs) for match in matches)
    yield f"Means over {seeds} seeds. {units}" if seeds > 1 else units
    if seeds > 1:
        yield "Ratios are of runs with the same seed; ± 95 % interval of their mean."


def _of_seeds(matches: Sequence[Match]) -> Iterator[str]:
    for match in matches:
        if len(match.by_seed) < max(len(match.first.runs), len(match.other.runs)):
            yield (
                f"{match.other.label}: its ratios are over "
                f"{count_text(len(match.by_seed), 'seed')}, of those that {match.first.label} ran "
                "with, too."
            )


def _of_what_is_missing(matches: Sequence[Match], views: Collection[str]) -> Iterator[str]:
    standings = [match.standing for match in matches]
    for view in VIEWS:
        if view.name in views and not view.is_known(standings):
            why = "no job has a loss curve" if view is QUALITY_VIEW else "no job finished"
            yield f"No {view.name} to compare: {why}."
    for view, is_missing, what in (
        (
            FAIRNESS_VIEW,
            _has_no_experiments,
            "in fairness.png every job counts, not an experiment once",
        ),
        (
            QUALITY_VIEW,
            _has_no_quality_over_time,
            "no quality.csv, so no losses over time and no GPUs by loss",
        ),
    ):
        old = [match.other.label for match in matches if is_missing(match.other)]
        if old and is_wanted(view.name, views):
            yield f"From an earlier version, to be simulated again: {', '.join(old)} ({what})."


def _has_no_experiments(contender: Contender) -> bool:
    key, name = WITHIN_SHARE
    return any(name not in run.document.get(key, {}) for run in contender.runs.values())


def _has_no_quality_over_time(contender: Contender) -> bool:
    return any(
        run.simulated.quality is None and number(run.document, QUALITY_VIEW.main) >= 0
        for run in contender.runs.values()
    )
