"""`Application.compute` with a check of its result."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application, Batch, Step, Update


def computed_update(app: Application, batch: Batch, values: Array, step: Step) -> Update:
    """The update of a batch, given the values at its keys.

    Raises JobFailed unless it is an `Update` whose delta has a row per key: servers would report
    such a delta later, as an error in `apply`.
    """
    update: object = app.compute(batch, values, step)
    if not isinstance(update, Update):
        raise _fault(app, f"returned {type(update).__name__}; return Update(delta)")
    shape = np.shape(update.delta)
    if shape != values.shape and not update.is_changes:
        wanted = (len(values), *app.model_table().delta_value_shape)
        if shape != wanted:
            raise _fault(app, f"returned a delta of shape {shape}; it must be {wanted}")
    return update


def _fault(app: Application, problem: str) -> JobFailed:
    code = getattr(type(app).compute, "__code__", None)
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno} in " if code else ""
    return JobFailed(f"{place}compute: {problem}")
