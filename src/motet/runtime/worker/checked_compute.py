"""`Application.compute` and `evaluate` with a check of their results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application, Batch, Step, Update
from motet.runtime.core.rows import Rows


def computed_update(app: Application, batch: Batch, values: Array, step: Step) -> Update:
    """The update of a batch, given the values at its keys.

    Raises JobFailed unless it is an `Update` whose delta has a row per key: servers would report
    such a delta later, as an error in `apply`.
    """
    update: object = app.compute(batch, values, step)
    if not isinstance(update, Update):
        raise _fault(app, "compute", f"returned {type(update).__name__}; return Update(delta)")
    shape = np.shape(update.delta)
    if shape != values.shape and not update.is_changes:
        wanted = (len(values), *app.model_table().delta_value_shape)
        if shape != wanted:
            raise _fault(app, "compute", f"returned a delta of shape {shape}; it must be {wanted}")
    return update


def evaluated_sums(app: Application, rows: Rows, model: Array) -> Array:
    """The sums over these instances. Raises JobFailed unless they are an array of numbers (m,)."""
    sums: object = app.evaluate(rows, model)
    if not isinstance(sums, np.ndarray) or sums.ndim != 1 or sums.dtype.kind not in "biuf":
        found = f"shape {sums.shape}" if isinstance(sums, np.ndarray) else type(sums).__name__
        raise _fault(app, "evaluate", f"returned {found}; return an array of sums, of shape (m,)")
    return sums


def _fault(app: Application, method: str, problem: str) -> JobFailed:
    code = getattr(getattr(type(app), method), "__code__", None)
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno} in " if code else ""
    return JobFailed(f"{place}{method}: {problem}")
