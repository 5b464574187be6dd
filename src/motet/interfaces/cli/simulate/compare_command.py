"""`motet compare`: finished simulations side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.out_folder import OutFolder

if TYPE_CHECKING:
    from motet.report.simulation.job_ratios import WinnersAndLosers
    from motet.report.simulation.seed_groups import Match

COMPARISON, WINNERS = "comparison.json", "winners_and_losers.png"


@click.command(short_help="Compare finished simulations.")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path)
)
@click.option(
    "--view",
    "views",
    multiple=True,
    type=click.Choice(["jct", "fairness", "quality"]),
    help="Print only this table; repeatable. Quality is of elastic jobs with loss curves.",
)
@click.option(
    "--out",
    type=OutFolder(),
    metavar="DIR",
    help="Write comparison.json and figures there.",
)
@click.option("--overwrite", is_flag=True, help="Replace the comparison that is in --out.")
@json_option()
def compare(
    folders: tuple[Path, ...],
    views: tuple[str, ...],
    out: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare what 'motet simulate --out DIR' wrote, relative to the first policy.

    A DIR holds one run, or several that were simulated together. A ratio of 2 means twice as long
    as under the first; of several seeds it is the mean of the ratios, each of two runs with the
    same seed.
    """
    import sys

    from motet.interfaces.cli.shell.results import print_result
    from motet.report.rendering.json_text import to_json
    from motet.report.simulation.caveats import comparison_notes, warnings
    from motet.report.simulation.comparison import comparison
    from motet.report.simulation.folder import read_runs
    from motet.report.simulation.seed_groups import Match, contenders

    found = contenders([(folder, run) for folder in folders for run in read_runs(folder)])
    matches = [Match.of(found[0], each) for each in found]
    duels = [match.winners_and_losers() for match in matches[1:]]
    document = _document(matches, duels)
    if out is not None:
        _make_free(out, overwrite=overwrite)
        _write(out, matches, duels, document)
    if as_json:
        sys.stdout.write(to_json(document))
        return
    notes = comparison_notes(matches, views, out)
    print_result(comparison(matches, duels, notes, views, warnings(matches)))


def _document(matches: Sequence[Match], duels: Sequence[WinnersAndLosers]) -> dict[str, Any]:
    runs = [
        {"label": match.other.label, **run.document, **match.ratios(seed)}
        for match in matches
        for seed, run in match.other.runs.items()
    ]
    return {
        "policies": [match.as_dict() for match in matches],
        "runs": runs,
        "winners_and_losers": [duel.as_dict() for duel in duels],
    }


def _make_free(out: Path, *, overwrite: bool) -> None:
    """Remove a comparison that may be replaced. Raises BadInput where anything else would be."""
    from motet.domain.errors import BadInput
    from motet.report.cluster_run.sweep import sweep_file
    from motet.report.figures.simulations import FIGURES
    from motet.report.simulation.files import SUMMARY

    names = (COMPARISON, WINNERS, *FIGURES)
    found = [out / name for name in names if (out / name).exists()]
    found += out.glob(sweep_file("*"))
    if not found:
        return
    if not (out / COMPARISON).exists() or (out / SUMMARY).exists():
        raise BadInput(
            f"--out {out}: {found[0].name} would be replaced, and no comparison wrote it; name "
            "another folder"
        )
    if not overwrite:
        raise BadInput(
            f"--out {out}: there is a comparison already; name another folder, or add --overwrite"
        )
    for path in found:
        path.unlink()


def _write(
    out: Path, matches: Sequence[Match], duels: Sequence[WinnersAndLosers], document: dict[str, Any]
) -> None:
    from motet.report.cluster_run.jobs import pooled
    from motet.report.figures.job_ratios import sooner_and_later, winners_and_losers
    from motet.report.rendering.figure_parts import save
    from motet.report.rendering.folder import Folder
    from motet.report.simulation.folder import write_figures

    folder = Folder(out)
    runs = [run for match in matches for run in match.other.runs.values()]
    write_figures(folder, [run.simulated for run in runs], [run.document for run in runs])
    if len(duels) == 1:
        same = pooled(list(matches[1].job_pairs().values()))
        figure = winners_and_losers(duels[0].against, duels[0].policy, same)
        folder.write(WINNERS, partial(save, figure))
    if len(duels) > 1:
        moved = [(duel.policy, duel.winners, duel.losers, duel.jobs) for duel in duels]
        folder.write(WINNERS, partial(save, sooner_and_later(duels[0].against, moved)))
    folder.write_json(COMPARISON, document)
