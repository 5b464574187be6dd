"""`motet compare`: finished simulations side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.option_groups import json_option
from motet.interfaces.cli.out_folder import OutFolder

if TYPE_CHECKING:
    from motet.report.comparison import WinnersAndLosers
    from motet.report.simulation_folder import StoredRun

WINNERS = "winners_and_losers.png"


@click.command(short_help="Compare finished simulations.")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    type=OutFolder(),
    metavar="DIR",
    help="Write comparison.json and figures there.",
)
@json_option()
def compare(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Compare what 'motet simulate --out DIR' wrote, relative to the first run.

    A DIR holds one run, or several that were simulated together. A ratio of 2 means twice as long
    as under the first.
    """
    import sys

    from motet.interfaces.cli.results import print_result
    from motet.report.comparison import WinnersAndLosers, comparison
    from motet.report.json_text import to_json

    runs = _labelled(folders)
    first = runs[0].simulated
    duels = [WinnersAndLosers.of(first, run.simulated) for run in runs[1:]]
    document = _document(runs, duels)
    if out is not None:
        _write(out, runs, duels, document)
    if as_json:
        sys.stdout.write(to_json(document))
        return
    labels = [run.simulated.label for run in runs]
    print_result(comparison(labels, [run.document for run in runs], duels, _notes(runs, out)))


def _labelled(folders: Sequence[Path]) -> list[StoredRun]:
    """All runs, each with a label that only it has: its policy, seed or folder as needed."""
    from motet.report.simulation_folder import read_runs

    found = [(folder, run) for folder in folders for run in read_runs(folder)]
    labels = [run.simulated.label for _, run in found]
    if len(set(labels)) < len(labels):
        labels = [f"{run.simulated.label} seed {run.document['seed']}" for _, run in found]
    if len(set(labels)) < len(labels):
        labels = [f"{label} in {folder}" for label, (folder, _) in zip(labels, found, strict=True)]
    return [
        replace(run, simulated=replace(run.simulated, label=label))
        for label, (_, run) in zip(labels, found, strict=True)
    ]


def _document(runs: Sequence[StoredRun], duels: Sequence[WinnersAndLosers]) -> dict[str, Any]:
    from motet.report.comparison import relative_jct

    first = runs[0].document
    return {
        "runs": [
            {
                "label": run.simulated.label,
                **run.document,
                "relative_jct": relative_jct(first, run.document),
            }
            for run in runs
        ],
        "winners_and_losers": [duel.as_dict() for duel in duels],
    }


def _write(
    out: Path,
    runs: Sequence[StoredRun],
    duels: Sequence[WinnersAndLosers],
    document: dict[str, Any],
) -> None:
    from motet.report.figure_parts import save
    from motet.report.folder import Folder
    from motet.report.simulation_figures import sooner_and_later, winners_and_losers
    from motet.report.simulation_folder import write_figures

    folder = Folder(out)
    simulated = [run.simulated for run in runs]
    write_figures(folder, simulated, [run.document for run in runs])
    if len(simulated) == 2:
        folder.write(WINNERS, partial(save, winners_and_losers(*simulated)))
    if len(simulated) > 2:
        moved = [(duel.policy, duel.winners, duel.losers, duel.jobs) for duel in duels]
        folder.write(WINNERS, partial(save, sooner_and_later(simulated[0].label, moved)))
    folder.write_json("comparison.json", document)


def _notes(runs: Sequence[StoredRun], out: Path | None) -> list[str]:
    notes = ["Seconds; x: times the first run's. Sooner, later: jobs that moved by more than 1 %."]
    if len({run.document["trace_sha256"] for run in runs}) > 1:
        notes.append("These runs replay different traces; their ratios mean little.")
    if out is not None:
        notes.append(f"Files: {out}")
    return notes
