"""Finished simulations side by side: how many times longer, who wins, who loses, how fairly."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.report.cluster_run.metrics import VIEWS, View, name_cell, ratio_text
from motet.report.rendering.fitting_table import Fitting, result_table
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import quantity
from motet.report.simulation.job_ratios import WinnersAndLosers
from motet.report.simulation.seed_groups import MEASURES, Match

TITLES = {"mean": "JCT mean", "median": "median", "p95": "95th"}
RATIO_TITLES = {"mean": "x mean", "median": "x median", "p95": "x 95th"}
JCT = "jct"
EVERYTHING, WITHOUT_EVENTS, RATIOS_ONLY = 2, 1, 0


def comparison(
    matches: Sequence[Match],
    duels: Sequence[WinnersAndLosers],
    notes: Sequence[str],
    views: Collection[str] = (),
    warnings: Sequence[str] = (),
) -> RenderableType:
    """A table for each of the views `jct`, `fairness`, `quality`; without a name for all there are.

    `matches`: of the first against itself, then of the others; `duels`: of the others. `warnings`
    go before the tables, `notes` below them.
    """
    standings = [match.standing for match in matches]
    parts: list[RenderableType] = [Padding(Text(it), (0, 0, 1, 0)) for it in warnings]
    parts += _completion_times(matches, duels) if is_wanted(JCT, views) else []
    shown = _shown_views(matches, views)
    parts += [Padding(view.table(standings), (0, 0, 1, 0)) for view in shown]
    return Group("", *parts, *(Text(note, style=QUIET_STYLE) for note in notes))


def has_tables(matches: Sequence[Match], views: Collection[str]) -> bool:
    """Whether there is anything to explain."""
    return is_wanted(JCT, views) or bool(_shown_views(matches, views))


def _shown_views(matches: Sequence[Match], views: Collection[str]) -> list[View]:
    standings = [match.standing for match in matches]
    return [each for each in VIEWS if is_wanted(each.name, views) and each.is_known(standings)]


def is_wanted(view: str, views: Collection[str]) -> bool:
    """Whether it is among those that were asked for."""
    return not views or view in views


def _completion_times(
    matches: Sequence[Match], duels: Sequence[WinnersAndLosers]
) -> list[RenderableType]:
    """Both tables, and the jobs that moved most where there are two policies."""
    widths = (EVERYTHING, WITHOUT_EVENTS, RATIOS_ONLY)
    tables = [Fitting([_relative_table(matches, width) for width in widths])]
    if duels:
        tables.append(Fitting([_duel_table(duels)]))
    if len(duels) == 1 and duels[0].winners + duels[0].losers:
        has_seeds = len(matches[0].other.runs) > 1
        tables.append(Fitting([_moves_table(duels[0], has_seeds=has_seeds)]))
    return [Padding(table, (0, 0, 1, 0)) for table in tables]


def _relative_table(matches: Sequence[Match], shown: int) -> Table:
    table = result_table()
    table.add_column("run", overflow="fold")
    ratios = list(RATIO_TITLES.values())
    times = list(TITLES.values()) if shown >= WITHOUT_EVENTS else []
    events = ["delay", "preempted"] if shown >= EVERYTHING else []
    for title in (*times, *ratios, *events):
        table.add_column(title, justify="right", no_wrap=True)
    for place, match in enumerate(matches):
        table.add_row(name_cell(place, match.other.label), *_cells(match, shown))
    return table


def _cells(match: Match, shown: int) -> list[str]:
    run = match.standing
    cells = [ratio_text(run.relative(("jct_s", name))) for name in MEASURES]
    if shown >= WITHOUT_EVENTS:
        cells = [quantity(run.estimate(("jct_s", name)).mean) for name in MEASURES] + cells
    if shown >= EVERYTHING:
        cells.append(quantity(run.estimate(("queueing_delay_s", "mean")).mean))
        cells.append(f"{run.estimate(('preemptions',)).mean:,.0f}")
    return cells


def _duel_table(duels: Sequence[WinnersAndLosers]) -> Table:
    table = result_table()
    table.add_column(f"against {duels[0].against}", overflow="fold")
    for title in ("sooner", "x", "later", "x", "same"):
        table.add_column(title, justify="right", no_wrap=True)
    for place, duel in enumerate(duels, start=1):
        table.add_row(
            name_cell(place, duel.policy),
            Text(f"{duel.winners:,}", style="green"),
            f"{duel.winners_ratio:.2f}" if duel.winners else "-",
            Text(f"{duel.losers:,}", style="red"),
            f"{duel.losers_ratio:.2f}" if duel.losers else "-",
            f"{duel.jobs - duel.winners - duel.losers:,}",
        )
    return table


def _moves_table(duel: WinnersAndLosers, *, has_seeds: bool) -> Table:
    table = result_table()
    table.add_column("job", overflow="fold")
    for title in (*(["seed"] if has_seeds else []), duel.against, duel.policy, "x"):
        table.add_column(title, justify="right", overflow="fold")
    for colour, moves in (("green", duel.most_won), ("red", duel.most_lost)):
        for move in moves:
            seed = [str(move.seed)] if has_seeds else []
            times = quantity(move.before_s), quantity(move.after_s)
            table.add_row(move.job_id, *seed, *times, Text(f"{move.ratio:.2f}", style=colour))
    return table
