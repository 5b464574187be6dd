"""Writes folders of finished simulations: `motet simulate --out DIR`.

One run: its CSV files, `summary.json`, the figures and, with `--log-decisions`, `decisions.jsonl`.
Several runs: a folder per run, and the figures and one `summary.json` for all of them.
`summary.json` is the document of `--json` with one more key, `setup`: how to repeat the runs.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from motet.report.cluster_run.columns import (
    FAIRNESS_COLUMNS,
    JOB_COLUMNS,
    PLACEMENT_COLUMNS,
    TIMELINE_COLUMNS,
    TRAINING_COLUMNS,
)
from motet.report.cluster_run.placements import Placements
from motet.report.cluster_run.quality import QUALITY_COLUMNS
from motet.report.cluster_run.record import ClusterRun
from motet.report.cluster_run.run_label import swept_parameters
from motet.report.figures.gantt import gantt_figure
from motet.report.figures.simulations import FIGURES, OF_QUALITY
from motet.report.figures.sweep import sweep_figure, sweep_file
from motet.report.rendering.csv_cells import inert_cell
from motet.report.rendering.figure_parts import save
from motet.report.rendering.folder import Folder
from motet.report.simulation.files import (
    DECISIONS,
    FAIRNESS,
    GANTT,
    JOBS,
    PLACEMENTS,
    QUALITY,
    SUMMARY,
    TIMELINE,
    TRAINING,
    kept_files,
    require_free_folder,
    run_names,
)


@dataclass(frozen=True)
class RunOutput:
    """The files' content of one finished run.

    `document`: its entry in `--json`. `setup`: policy, settings and seed as given. `..._rows`: of
    the CSV files; `training_rows` is None without elastic jobs, `quality_rows` without loss curves.
    `decisions`: a file with the decision log, which is copied.
    """

    name: str
    document: Mapping[str, Any]
    setup: Mapping[str, Any]
    job_rows: Iterable[Sequence[object]]
    fairness_rows: Iterable[Sequence[object]]
    placement_rows: Iterable[Sequence[object]]
    cluster_run: ClusterRun
    placements: Placements
    decisions: Path | None = None
    training_rows: Iterable[Sequence[object]] | None = None
    quality_rows: Iterable[Sequence[object]] | None = None


class SimulationFolder:
    """`--out DIR` of simulations."""

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        *,
        swept: Iterable[str] = (),
        inputs: Iterable[Path] = (),
        overwrite: bool,
    ) -> None:
        """For runs of these names. Raises BadInput if a file would be lost.

        `swept`: parameters with at least two values; `inputs`: files that the command reads.
        `overwrite` replaces the files of an earlier simulation and no others.
        """
        require_free_folder(path, names, swept, inputs, overwrite=overwrite)
        self._folder = Folder(path)
        self._is_alone = len(names) == 1
        self._written: list[RunOutput] = []

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._folder.path

    def add(self, run: RunOutput, setup: Mapping[str, Any]) -> None:
        """Write a finished run. The first one removes the results of an earlier simulation."""
        if not self._written:
            _remove_results(self._folder.path)
        self._written.append(run)
        inside = self._folder_of(run)
        _write_run(inside, run)
        inside.write_json(SUMMARY, _summary([run], setup))
        if not self._is_alone:
            self._folder.write_json(SUMMARY, _summary(self._written, setup))

    def finish(self, runs: Sequence[RunOutput], setup: Mapping[str, Any]) -> None:
        """Write the figures, and the summary in the order of `runs`, all of which were added."""
        self._folder.write_json(SUMMARY, _summary(runs, setup))
        for run in _first_seeds(runs):
            figure = gantt_figure(run.cluster_run.label, run.placements)
            self._folder_of(run).write(GANTT, partial(save, figure))
        documents = [run.document for run in runs]
        write_figures(self._folder, [run.cluster_run for run in runs], documents)

    def write(self, runs: Sequence[RunOutput], setup: Mapping[str, Any]) -> None:
        """Add all runs and finish."""
        for run in runs:
            self.add(run, setup)
        self.finish(runs, setup)

    def _folder_of(self, run: RunOutput) -> Folder:
        return self._folder if self._is_alone else Folder(self._folder.path / run.name)


def write_figures(
    folder: Folder, runs: Sequence[ClusterRun], documents: Sequence[Mapping[str, Any]]
) -> None:
    """The figures of any number of runs; figures of quality only if a run has loss curves."""
    for name, draw in FIGURES.items():
        if name not in OF_QUALITY or any(run.quality is not None for run in runs):
            folder.write(name, partial(save, draw(runs)))
    for parameter in swept_parameters(documents):
        folder.write(sweep_file(parameter), partial(save, sweep_figure(parameter, documents)))


def _write_run(folder: Folder, run: RunOutput) -> None:
    record = run.cluster_run
    times = record.times_s, record.used_gpus, record.waiting_jobs
    timeline = zip(*(column.tolist() for column in times), strict=True)
    tables: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        JOBS: (JOB_COLUMNS, run.job_rows),
        FAIRNESS: (FAIRNESS_COLUMNS, run.fairness_rows),
        PLACEMENTS: (PLACEMENT_COLUMNS, run.placement_rows),
        TIMELINE: (TIMELINE_COLUMNS, timeline),
    }
    if run.training_rows is not None:
        tables[TRAINING] = TRAINING_COLUMNS, run.training_rows
    if run.quality_rows is not None:
        tables[QUALITY] = QUALITY_COLUMNS, run.quality_rows
    for name, (columns, rows) in tables.items():
        folder.write(name, partial(_write_csv, columns=columns, rows=rows))
    if (log := run.decisions) is not None:
        folder.write(DECISIONS, lambda path: shutil.copyfile(log, path))


def _first_seeds(runs: Sequence[RunOutput]) -> list[RunOutput]:
    """The first run of every label: Gantt charts of other seeds hardly differ."""
    first: dict[str, RunOutput] = {}
    for run in runs:
        first.setdefault(run.cluster_run.label, run)
    return list(first.values())


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([inert_cell(cell) for cell in row] for row in rows)


def _summary(runs: Sequence[RunOutput], setup: Mapping[str, Any]) -> dict[str, Any]:
    """The document with `setup`; `name` is the folder of a run where there are several."""
    own = [{"name": run.name, **run.setup} for run in runs]
    return {"runs": [run.document for run in runs], "setup": {**setup, "runs": own}}


def _remove_results(path: Path) -> None:
    """Remove files that a simulation wrote, and the folders of its runs that are empty then."""
    inside = list(run_names(path))
    for file in kept_files(path):
        (path / file).unlink(missing_ok=True)
    for name in inside:
        if not any((path / name).iterdir()):
            (path / name).rmdir()
