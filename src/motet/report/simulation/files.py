"""Names of the files in a folder of simulations, and the check of what may be replaced there."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from motet.domain.errors import BadInput
from motet.report.cluster_run.run_label import swept_parameters
from motet.report.figures.simulations import FIGURES
from motet.report.figures.sweep import sweep_file

SUMMARY, JOBS, TIMELINE = "summary.json", "jobs.csv", "timeline.csv"
DECISIONS = "decisions.jsonl"
FAIRNESS, PLACEMENTS, GANTT = "fairness.csv", "placements.csv", "gantt.png"
TRAINING, QUALITY = "training.csv", "quality.csv"
RUN_FILES = (SUMMARY, JOBS, FAIRNESS, PLACEMENTS, TIMELINE, TRAINING, QUALITY, DECISIONS, GANTT)
_LONGEST_FILE_NAME = 255
_ELSEWHERE = "name another folder"


def require_free_folder(
    path: Path,
    names: Sequence[str],
    swept: Iterable[str],
    inputs: Iterable[Path],
    *,
    overwrite: bool,
) -> None:
    """Raises BadInput if a file would be lost.

    Files to be written must be new or, with `overwrite`, written by an earlier simulation. `names`:
    of the runs; `swept`: parameters with a figure; `inputs`: files that the command reads.
    """
    planned = _files_of(names, swept, is_alone=len(names) == 1)
    own = set(kept_files(path)) if overwrite else set()
    if read := _first_same(path, planned | own, inputs):
        raise BadInput(f"--out {path}: {read} is being read and would be lost; {_ELSEWHERE}")
    if not overwrite and (path / SUMMARY).exists() and is_summary(path):
        raise BadInput(
            f"--out {path}: there are results of a simulation already; "
            f"{_ELSEWHERE}, or add --overwrite"
        )
    _refuse(path, [file for file in sorted(planned - own) if os.path.lexists(path / file)])
    _refuse(path, [Path(name) for name in names if len(names) > 1 and (path / name).is_file()])


def _refuse(path: Path, in_the_way: Sequence[Path]) -> None:
    if in_the_way:
        more = f" and {len(in_the_way) - 1} more" if len(in_the_way) > 1 else ""
        raise BadInput(
            f"--out {path}: {in_the_way[0]}{more} would be replaced, and no simulation of this "
            f"folder wrote it; {_ELSEWHERE}"
        )


def _first_same(path: Path, files: Collection[Path], inputs: Iterable[Path]) -> Path | None:
    written = {(path / file).resolve() for file in files}
    return next((each for each in inputs if each.resolve() in written), None)


def kept_files(path: Path) -> Iterator[Path]:
    """Relative paths that the simulation in a folder may have written. Raises BadInput."""
    if (path / SUMMARY).exists():
        summary = run_summary(path)
        names = [run["name"] for run in summary["setup"]["runs"]]
        swept = swept_parameters(summary["runs"])
        is_alone = len(names) == 1 and not list(run_names(path))
        yield from sorted(_files_of(names, swept, is_alone=is_alone))


def _files_of(names: Sequence[str], swept: Iterable[str], *, is_alone: bool) -> set[Path]:
    common = {Path(file) for file in (SUMMARY, *FIGURES, *map(sweep_file, swept))}
    if is_alone:
        return common | {Path(file) for file in RUN_FILES}
    return common | {Path(name, file) for name in names for file in RUN_FILES}


def run_names(path: Path) -> Iterator[str]:
    """Subfolders with a finished run, in the order of the command line."""
    if not (path / SUMMARY).exists():
        return
    for run in run_summary(path)["setup"]["runs"]:
        if (path / run["name"] / JOBS).exists() and (path / run["name"] / SUMMARY).exists():
            yield run["name"]


def is_summary(path: Path) -> bool:
    """Whether the folder's `summary.json` was written by a simulation."""
    try:
        run_summary(path)
    except BadInput:
        return False
    return True


def _is_file_name(name: str) -> bool:
    return Path(name).name == name and len(name.encode()) <= _LONGEST_FILE_NAME


def run_summary(path: Path) -> dict[str, Any]:
    """The document in `summary.json`, with its `setup`. Raises BadInput."""
    try:
        summary: dict[str, Any] = json.loads((path / SUMMARY).read_text(encoding="utf-8"))
        names = [run["name"] for run in summary["setup"]["runs"]]
        if len(summary["runs"]) != len(names) or not all(map(_is_file_name, names)):
            raise ValueError("its runs have no names")
        if not all(isinstance(run, dict) for run in summary["runs"]):
            raise ValueError("its runs are no mappings")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path / SUMMARY}: not a simulation's summary ({error})") from error
    return summary
