"""Reads the runs in a folder of simulations back."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.errors import BadInput, NotFound
from motet.report.cluster_run.columns import FAIRNESS_COLUMNS, TIMELINE_COLUMNS
from motet.report.cluster_run.quality import QUALITY_COLUMNS, QualityOverTime
from motet.report.cluster_run.record import ClusterRun, rho_of_experiments
from motet.report.cluster_run.run_label import run_label
from motet.report.rendering.csv_cells import original_cell
from motet.report.simulation.files import (
    FAIRNESS,
    JOBS,
    QUALITY,
    SUMMARY,
    TIMELINE,
    run_names,
    run_summary,
)

_DAMAGES = (
    OSError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    csv.Error,
)


@dataclass(frozen=True)
class StoredRun:
    """A run read from its folder. `document`: its entry in the document of `--json`.

    `trace`, `cluster`: values of these options when it was simulated.
    """

    document: Mapping[str, Any]
    cluster_run: ClusterRun
    trace: str
    cluster: str


def read_runs(path: Path) -> list[StoredRun]:
    """The run in a folder, or all runs in its subfolders. Raises NotFound, BadInput."""
    names = list(run_names(path))
    if not names and (path / JOBS).exists() and (path / SUMMARY).exists():
        return [_read_run(path)]
    found = [_read_run(path / name) for name in names]
    if path.is_file():
        raise NotFound(f"{path}: is a file; give a folder that 'motet simulate --out' has written")
    if not found:
        raise NotFound(f"{path}: no finished simulation; 'motet simulate --out {path}' makes one")
    return found


def _read_run(path: Path) -> StoredRun:
    summary = run_summary(path)
    try:
        (document,) = summary["runs"]
        times_s, used, waiting = _columns(path / TIMELINE, TIMELINE_COLUMNS)
        cluster_run = ClusterRun(
            label=run_label(document),
            **_read_jobs(path),
            delay_causes_s=document["delay_causes_s"],
            gpu_count=summary["setup"]["gpus"],
            times_s=np.array(times_s, dtype=np.float64),
            used_gpus=np.array(used, dtype=np.int64),
            waiting_jobs=np.array(waiting, dtype=np.int64),
            quality=_read_quality(path / QUALITY),
        )
    except _DAMAGES as error:
        raise BadInput(f"{path}: not a finished simulation ({error}); simulate it again") from error
    setup = summary["setup"]
    return StoredRun(document, cluster_run, str(setup.get("trace")), str(setup.get("cluster")))


def _read_jobs(path: Path) -> dict[str, Any]:
    """The columns of the finished jobs and of their experiments."""
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
        "rho": rho_of_experiments(np.array([it or "nan" for it in rho], np.float64), experiments),
    }


def _read_fairness(path: Path) -> list[list[str]]:
    """Columns of `fairness.csv`; earlier versions wrote no experiments, each job counts alone."""
    names = ("job_id", "duration", "rho")
    with path.open(newline="", encoding="utf-8") as file:
        has_experiments = FAIRNESS_COLUMNS[-1] in next(csv.reader(file), ())
    if has_experiments:
        return _columns(path, (*names, FAIRNESS_COLUMNS[-1]))
    columns = _columns(path, names)
    return [*columns, [""] * len(columns[0])]


def _read_quality(path: Path) -> QualityOverTime | None:
    """None without loss curves, or if an earlier version wrote the folder."""
    return QualityOverTime.of_columns(_columns(path, QUALITY_COLUMNS)) if path.exists() else None


def _columns(path: Path, names: Sequence[str]) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[original_cell(row[name]) for name in names] for row in csv.DictReader(file)]
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
