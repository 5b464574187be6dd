"""Folders of finished simulations: what `motet simulate --out` writes and `motet compare` reads.

One run: its CSV files, `summary.json`, the figures and, if it was asked for, `decisions.jsonl`.
Several: the figures and one
`summary.json` for all, and a folder per run. `summary.json` is the document of `--json` with one
more key, `setup`: how to repeat it.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.errors import BadInput, NotFound
from motet.report.cluster_run.jobs import (
    COLUMNS,
    FAIRNESS_COLUMNS,
    TRAINING_COLUMNS,
    SimulatedJobs,
    of_experiments,
)
from motet.report.cluster_run.placements import PLACEMENT_COLUMNS, Placements
from motet.report.cluster_run.quality import QUALITY_COLUMNS, QualityOverTime
from motet.report.cluster_run.sweep import run_label, sweep_figure, sweep_file, swept_parameters
from motet.report.figures.gantt import gantt
from motet.report.figures.simulations import FIGURES, OF_QUALITY
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
    check_free,
    kept_files,
    run_names,
    run_summary,
)

TIMELINE_COLUMNS = ("time", "used_gpus", "waiting_jobs")


@dataclass(frozen=True)
class FinishedRun:
    """`document`: its entry in `--json`; `setup`: its policy, settings and seed as they were given.

    `job_rows`, `fairness_rows`, `placement_rows`: of the CSV files. `decisions`: a file with its
    decision log, which is copied. `training_rows`: None without elastic jobs.
    """

    name: str
    document: Mapping[str, Any]
    setup: Mapping[str, Any]
    job_rows: Iterable[Sequence[object]]
    fairness_rows: Iterable[Sequence[object]]
    placement_rows: Iterable[Sequence[object]]
    simulated: SimulatedJobs
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
        """For the runs of these names. Raises BadInput where something would be lost.

        `swept`: parameters of which there are several values; `inputs`: files that are being read.
        `overwrite` replaces another simulation, and no other file.
        """
        check_free(path, names, swept, inputs, overwrite=overwrite)
        self._folder = Folder(path)

        self._is_alone = len(names) == 1
        self._written: list[FinishedRun] = []

    def add(self, run: FinishedRun, setup: Mapping[str, Any]) -> None:
        """A run that has finished; with the first one, whatever simulation was there is removed."""
        if not self._written:
            _remove_results(self._folder.path)
        self._written.append(run)
        inside = self._folder if self._is_alone else Folder(self._folder.path / run.name)
        _write_run(inside, run)
        inside.write_json(SUMMARY, _summary([run], setup))
        if not self._is_alone:
            self._folder.write_json(SUMMARY, _summary(self._written, setup))

    def finish(self, runs: Sequence[FinishedRun], setup: Mapping[str, Any]) -> None:
        """The figures, and the summary in the order of the runs, all of which were added."""
        self._folder.write_json(SUMMARY, _summary(runs, setup))
        for run in _first_seeds(runs):
            inside = self._folder if self._is_alone else Folder(self._folder.path / run.name)
            figure = gantt(run.simulated.label, run.placements)
            inside.write(GANTT, partial(save, figure))
        documents = [run.document for run in runs]
        write_figures(self._folder, [run.simulated for run in runs], documents)

    def write(self, runs: Sequence[FinishedRun], setup: Mapping[str, Any]) -> None:
        """All at once."""
        for run in runs:
            self.add(run, setup)
        self.finish(runs, setup)


def write_figures(
    folder: Folder, simulated: Sequence[SimulatedJobs], documents: Sequence[Mapping[str, Any]]
) -> None:
    """All figures that show any number of runs, and that there is something to show in."""
    for name, draw in FIGURES.items():
        if name not in OF_QUALITY or any(run.quality is not None for run in simulated):
            folder.write(name, partial(save, draw(simulated)))
    for parameter in swept_parameters(documents):
        folder.write(sweep_file(parameter), partial(save, sweep_figure(parameter, documents)))


@dataclass(frozen=True)
class StoredRun:
    """A run read back: its entry in the document, its jobs, and what was given to simulate it."""

    document: Mapping[str, Any]
    simulated: SimulatedJobs
    trace: str
    cluster: str


def read_runs(path: Path) -> list[StoredRun]:
    """The run in a folder, or all runs in its subfolders. Raises NotFound, BadInput."""
    names = list(run_names(path))
    if not names and (path / JOBS).exists() and (path / SUMMARY).exists():
        return [_read_run(path)]
    found = [_read_run(path / name) for name in names]
    if not found:
        raise NotFound(f"{path}: no finished simulation; 'motet simulate --out {path}' makes one")
    return found


# -- writing ---------------------------------------------------------------------------------------


def _write_run(folder: Folder, run: FinishedRun) -> None:
    simulated = run.simulated
    times = simulated.times_s, simulated.used_gpus, simulated.waiting_jobs
    timeline = zip(*(column.tolist() for column in times), strict=True)
    tables: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        JOBS: (COLUMNS, run.job_rows),
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


def _first_seeds(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """A run of every label: another seed's Gantt chart hardly differs."""
    first: dict[str, FinishedRun] = {}
    for run in runs:
        first.setdefault(run.simulated.label, run)
    return list(first.values())


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _summary(runs: Sequence[FinishedRun], setup: Mapping[str, Any]) -> dict[str, Any]:
    """`name`: the folder of a run when there are several."""
    own = [{"name": run.name, **run.setup} for run in runs]
    return {"runs": [run.document for run in runs], "setup": {**setup, "runs": own}}


def _remove_results(path: Path) -> None:
    """Only files that a simulation wrote, and folders that are empty then."""
    inside = list(run_names(path))
    for file in kept_files(path):
        (path / file).unlink(missing_ok=True)
    for name in inside:
        if not any((path / name).iterdir()):
            (path / name).rmdir()


# -- reading ---------------------------------------------------------------------------------------


def _read_run(path: Path) -> StoredRun:
    summary = run_summary(path)
    (document,) = summary["runs"]
    try:
        times_s, used, waiting = _columns(path / TIMELINE, TIMELINE_COLUMNS)
        simulated = SimulatedJobs(
            label=run_label(document),
            **_read_jobs(path),
            delay_causes_s=document["delay_causes_s"],
            gpu_count=summary["setup"]["gpus"],
            times_s=np.array(times_s, dtype=np.float64),
            used_gpus=np.array(used, dtype=np.int64),
            waiting_jobs=np.array(waiting, dtype=np.int64),
            quality=_read_quality(path / QUALITY),
        )
    except (OSError, KeyError, ValueError) as error:
        raise BadInput(f"{path}: not a finished simulation ({error}); simulate it again") from error
    setup = summary["setup"]
    return StoredRun(document, simulated, str(setup.get("trace")), str(setup.get("cluster")))


def _read_jobs(path: Path) -> dict[str, Any]:
    """The jobs that finished, and their experiments."""
    names = ("job_id", "num_gpus", "jct", "queueing_delay", "state")
    columns = zip(*_columns(path / JOBS, names), strict=True)
    done = [row for row in columns if row[-1] == "finished"]
    ids, gpus, jct, waited, _ = zip(*done, strict=True) if done else ((),) * 5
    fair_ids, duration, rho, experiments = _read_fairness(path / FAIRNESS)
    if fair_ids != list(ids):
        raise ValueError(f"{FAIRNESS} is of other jobs than {JOBS}")
    return {
        "ids": tuple(ids),
        "gpus": np.array(gpus, dtype=np.int64),
        "duration_s": np.array(duration, dtype=np.float64),
        "jct_s": np.array(jct, dtype=np.float64),
        "queueing_delay_s": np.array(waited, dtype=np.float64),
        "rho": of_experiments(np.array([it or "nan" for it in rho], np.float64), experiments),
    }


def _read_fairness(path: Path) -> list[list[str]]:
    """Of a folder that names no experiments every job counts alone."""
    names = ("job_id", "duration", "rho")
    with path.open(newline="", encoding="utf-8") as file:
        has_experiments = FAIRNESS_COLUMNS[-1] in next(csv.reader(file), ())
    if has_experiments:
        return _columns(path, (*names, FAIRNESS_COLUMNS[-1]))
    columns = _columns(path, names)
    return [*columns, [""] * len(columns[0])]


def _read_quality(path: Path) -> QualityOverTime | None:
    """None where no job had a loss curve, or an earlier version wrote the folder."""
    return QualityOverTime.of_columns(_columns(path, QUALITY_COLUMNS)) if path.exists() else None


def _columns(path: Path, names: Sequence[str]) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[row[name] for name in names] for row in csv.DictReader(file)]
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
