"""Writer of motet CSV; `read_trace` restores the same trace, to the microsecond."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from motet.domain.errors import BadInput
from motet.domain.units import exact_seconds
from motet.report.rendering.csv_cells import inert_cell
from motet.sim.traces.formats.motet_columns.elastic_columns import WORK_COLUMNS, work_columns
from motet.sim.traces.formats.motet_columns.intervention_columns import (
    INTERVENTION_COLUMNS,
    intervention_columns,
)
from motet.sim.traces.formats.motet_columns.subtask_columns import exact_gigabytes
from motet.sim.traces.trace import MORE_COLUMNS
from motet.sim.workload.workload import Workload

COLUMNS = (
    "job_id",
    "user",
    "queue",
    "submit_time",
    "num_gpus",
    "num_cpus",
    "num_nodes",
    "duration",
    "model",
    "batch_size",
    "iterations",
    "priority",
    "state",
    "start_time",
    "end_time",
)

MEMORY = "memory_gb"
_BOTH_ENDS = "\r\n"


def motet_csv(workload: Workload, more: Mapping[str, Sequence[str]] | None = None) -> str:
    """The text of a motet CSV. `more`: `MORE_COLUMNS` of a `Trace`."""
    empty = ("",) * len(workload)
    models = ("", *workload.model_names)
    columns: dict[str, Sequence[object]] = {
        "job_id": workload.ids,
        "user": workload.users,
        "queue": [workload.queue_names[queue] for queue in workload.queue.tolist()],
        "submit_time": [exact_seconds(time_us) for time_us in workload.submit_us.tolist()],
        "num_gpus": workload.gpus.tolist(),
        "duration": [exact_seconds(time_us) for time_us in workload.duration_us.tolist()],
        "model": [models[model + 1] for model in workload.model.tolist()],
        **{name: (more or {}).get(name, empty) for name in MORE_COLUMNS},
    }
    if workload.cpus.any() and not any(columns["num_cpus"]):
        columns["num_cpus"] = workload.cpus.tolist()
    if workload.memory_bytes.any():
        columns[MEMORY] = [exact_gigabytes(each) for each in workload.memory_bytes.tolist()]
    if workload.experiment_names:
        names_of = ("", *workload.experiment_names)
        columns["experiment"] = [names_of[each + 1] for each in workload.experiment.tolist()]
    if workload.work is not None:
        columns |= work_columns(workload.work)
    if workload.interventions is not None:
        columns |= intervention_columns(workload.interventions)
    optional = (MEMORY, "experiment", *INTERVENTION_COLUMNS, *WORK_COLUMNS)
    names = [name for name in (*COLUMNS, *optional) if name in columns]
    text = _Lines()
    writer = csv.writer(text, lineterminator=_BOTH_ENDS)
    writer.writerow(names)
    for row in zip(*(columns[name] for name in names), strict=True):
        writer.writerow(map(inert_cell, row))
    return "".join(text.lines)


class _Lines:
    """Rows that end in a newline only; cells with either line-end character are quoted."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, row: str) -> None:
        """Append a row of the CSV writer."""
        self.lines.append(row.removesuffix(_BOTH_ENDS) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file atomically, gzipped if its name ends in `.gz`. Raises BadInput."""
    data = text.encode("utf-8")
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        _write(path, data)
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(
            f"{path}: cannot be written ({reason}); name a file in a folder that you may write to"
        ) from error


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # A device or a pipe cannot be replaced by a file.
        return
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
