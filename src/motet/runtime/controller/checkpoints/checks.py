"""Checks whether a checkpoint can be a state of the job that resumes it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.checkpoints.identity import JobIdentity
from motet.runtime.core.rows import Ragged, Rows


def implausible(checkpoint: Checkpoint, folder: str, job: JobIdentity) -> str:
    """Why the checkpoint in a folder of this name is not one of the job; "" if nothing is wrong."""
    problems = (
        _wrong_epochs(checkpoint, folder),
        _wrong_batches(checkpoint.batches, job),
        _wrong_array("the model", checkpoint.model, job.model.shape, job.model.dtype),
        _wrong_state(checkpoint.state, job.first_state()),
    )
    return next(filter(None, problems), "")


def _wrong_epochs(checkpoint: Checkpoint, folder: str) -> str:
    count = checkpoint.epoch_count
    if folder != folder_name(count, checkpoint.batches):
        more = f" and {checkpoint.batches} mini-batches" if checkpoint.batches else ""
        return f"it says that {count} epochs{more} are done"
    epochs = [report.epoch_index for report in checkpoint.reports]
    if len(epochs) != count or epochs != list(range(count)):
        return f"it has no report of each of its {count} epochs"
    if not all(math.isfinite(report.loss) for report in checkpoint.reports):
        return "a loss is not finite"
    if not 0 <= checkpoint.spent_s < math.inf:
        return f"it says that {checkpoint.spent_s} s were spent"
    return ""


def _wrong_batches(batches: int, job: JobIdentity) -> str:
    count = job.fingerprint.get("batches")
    if batches and not 0 < batches < (count if isinstance(count, int) else 0):
        return f"it says that {batches} mini-batches of an epoch of {count} are done"
    return ""


def folder_name(epoch_count: int, batches: int = 0) -> str:
    """The folder of the checkpoint after so many epochs, and mini-batches of the next one; names
    sort by both."""
    within = f"-batch-{batches:06d}" if batches else ""
    return f"epoch-{epoch_count:06d}{within}"


def _wrong_state(state: Rows, expected: Rows) -> str:
    if not np.array_equal(state.ids, expected.ids):
        return "its instances are not those of the job"
    if state.columns.keys() != expected.columns.keys():
        return f"its state columns are {sorted(state.columns)}, not {sorted(expected.columns)}"
    problems = (
        _wrong_column(name, state.columns[name], expected.columns[name]) for name in state.columns
    )
    return next(filter(None, problems), "")


def _wrong_column(name: str, column: Array | Ragged, expected: Array | Ragged) -> str:
    what = f"state column {name}"
    if isinstance(expected, Ragged):
        if not isinstance(column, Ragged):
            return f"{what} has one value per instance"
        if not np.array_equal(column.offsets, expected.offsets):
            return f"{what} has other numbers of values"
        column, expected = column.values, expected.values
    elif isinstance(column, Ragged):
        return f"{what} has several values per instance"
    return _wrong_array(what, column, expected.shape, expected.dtype)


def _wrong_array(what: str, array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    if array.shape != shape or array.dtype != dtype:
        return f"{what} is {array.dtype} of shape {array.shape}, not {dtype} of shape {shape}"
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return f"{what} has values that are not finite"
    return ""
