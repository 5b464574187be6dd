"""Digests: what distinguishes one job from another, and one result from another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.controller.checkpoint import Checkpoint
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.core.rows import Rows

# A job may be resumed for more epochs; the seed of a job is in its options.
_NOT_COMPARED = ("epochs", "random_state")


def fingerprint(plan: JobPlan, rows: Rows, seed: int) -> Mapping[str, Any]:
    """What must be equal to resume; needs no cluster, so a command can compare it at once."""
    model = plan.table.model
    parameters = plan.app.get_params()
    return {
        "app": plan.app.name,
        "parameters": {k: repr(v) for k, v in parameters.items() if k not in _NOT_COMPARED},
        "seed": seed,
        "instances": len(rows),
        "data": _data_digest(rows, plan.app.state_columns),
        "batches": plan.schedule.batch_count,
        "model_shape": list(model.shape),
        "model_dtype": model.dtype.str,
    }


def state_digest(final: Checkpoint) -> str:
    """SHA-256 of the model and the instances' state; equal for equal runs."""
    return _sha256_of([("model", final.model), *final.state.arrays()])


def _data_digest(rows: Rows, state_columns: tuple[str, ...]) -> str:
    data = rows.select(name for name in rows.columns if name not in state_columns)
    return _sha256_of([("ids", rows.ids), *data.arrays()])


def _sha256_of(named: Iterable[tuple[str, Array]]) -> str:
    digest = hashlib.sha256()
    for name, array in named:
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
