"""`motet compare`: compares finished simulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.out_folder import OutFolder

if TYPE_CHECKING:
    from motet.report.simulation.job_ratios import JobRatios
    from motet.report.simulation.seed_groups import PairedGroups

COMPARISON, JOB_RATIOS = "comparison.json", "winners_and_losers.png"


@click.command("compare", short_help="Compare finished simulations.")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path)
)
@click.option(
    "--view",
    "views",
    multiple=True,
    type=click.Choice(["jct", "fairness", "quality"]),
    help="Print only this table; repeatable. Quality needs elastic jobs with loss curves.",
)
@click.option(
    "--out",
    type=OutFolder(),
    metavar="DIR",
    help="Write comparison.json and figures there.",
)
@click.option("--overwrite", is_flag=True, help="Replace the comparison that is in --out.")
@json_option()
def compare_command(
    folders: tuple[Path, ...],
    views: tuple[str, ...],
    out: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare folders of 'motet simulate --out DIR', relative to the first policy.

    A DIR contains one run, or several that were simulated together. A ratio of 2 means twice as
    long as under the first policy. With several seeds it is the mean of the ratios of two runs with
    the same seed.
    """
    import sys

    from motet.interfaces.cli.shell.streams.results import print_result
    from motet.report.rendering.json_text import to_json
    from motet.report.simulation.comparison_notes import comparison_notes, comparison_warnings
    from motet.report.simulation.comparison_tables import comparison_page
    from motet.report.simulation.seed_groups import paired_with_first, seed_groups
    from motet.report.simulation.stored_run import read_runs

    found = seed_groups([(folder, run) for folder in folders for run in read_runs(folder)])
    groups = paired_with_first(found)
    ratios = [group.job_ratios() for group in groups[1:]]
    document = _document(groups, ratios)
    if out is not None:
        _remove_earlier_comparison(out, overwrite=overwrite)
        _write(out, groups, ratios, document)
    if as_json:
        sys.stdout.write(to_json(document))
        return
    notes = comparison_notes(groups, views, out)
    print_result(comparison_page(groups, ratios, notes, views, comparison_warnings(groups)))


def _document(groups: Sequence[PairedGroups], ratios: Sequence[JobRatios]) -> dict[str, Any]:
    runs = [
        {"label": group.other.label, **run.document, **group.ratios(seed)}
        for group in groups
        for seed, run in group.other.runs.items()
    ]
    return {
        "policies": [group.as_dict() for group in groups],
        "runs": runs,
        "winners_and_losers": [each.as_dict() for each in ratios],
    }


def _remove_earlier_comparison(out: Path, *, overwrite: bool) -> None:
    """Remove the files of an earlier comparison. Raises BadInput if another file would be lost."""
    from motet.domain.errors import BadInput
    from motet.report.figures.simulations import FIGURES
    from motet.report.figures.sweep import sweep_file
    from motet.report.simulation.files import SUMMARY

    names = (COMPARISON, JOB_RATIOS, *FIGURES)
    found = [out / name for name in names if (out / name).exists()]
    found += out.glob(sweep_file("*"))
    if not found:
        return
    if not (out / COMPARISON).exists() or (out / SUMMARY).exists():
        raise BadInput(
            f"--out {out}: {found[0].name} would be replaced and is not of a comparison; name "
            "another folder"
        )
    if not overwrite:
        raise BadInput(
            f"--out {out}: there is a comparison already; name another folder, or add --overwrite"
        )
    for path in found:
        path.unlink()


def _write(
    out: Path, groups: Sequence[PairedGroups], ratios: Sequence[JobRatios], document: dict[str, Any]
) -> None:
    from motet.report.cluster_run.job_pairs import concatenate_pairs
    from motet.report.figures.job_ratios import job_times_figure, sooner_and_later_figure
    from motet.report.rendering.figure_parts import save
    from motet.report.rendering.folder import Folder
    from motet.report.simulation.folder import write_figures

    folder = Folder(out)
    runs = [run for group in groups for run in group.other.runs.values()]
    write_figures(folder, [run.cluster_run for run in runs], [run.document for run in runs])
    if len(ratios) == 1:
        pairs = concatenate_pairs(list(groups[1].job_pairs().values()))
        figure = job_times_figure(ratios[0].against, ratios[0].policy, pairs)
        folder.write(JOB_RATIOS, partial(save, figure))
    if len(ratios) > 1:
        moved = [(each.policy, each.sooner, each.later, each.jobs) for each in ratios]
        folder.write(JOB_RATIOS, partial(save, sooner_and_later_figure(ratios[0].against, moved)))
    folder.write_json(COMPARISON, document)
