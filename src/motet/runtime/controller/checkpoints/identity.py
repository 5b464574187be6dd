"""What distinguishes one job from another, and one result from another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.core.application import ModelTable
from motet.runtime.core.rows import Rows

# A job may be resumed for more epochs; the seed of a job is in its options.
_NOT_COMPARED = ("epochs", "random_state", "tol")


@dataclass(frozen=True, eq=False)
class JobIdentity:
    """What all checkpoints of a job have in common.

    `fingerprint`: must be equal to resume; JSON values. `model`: its table. `first_state`: returns
    the state columns before training, ordered by instance id; called when a checkpoint is read, so
    that a job which only writes them keeps no copy.
    """

    fingerprint: Mapping[str, Any]
    model: ModelTable
    first_state: Callable[[], Rows]


def identity_of(plan: JobPlan, rows: Rows, seed: int) -> JobIdentity:
    """Needs no cluster, so a command can compare it before one is started."""
    state = rows.select(plan.app.state_columns)
    return JobIdentity(_fingerprint(plan, rows, seed), plan.table.model, state.ordered_by_id)


def _fingerprint(plan: JobPlan, rows: Rows, seed: int) -> Mapping[str, Any]:
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


def model_digest(model: Array) -> str:
    """SHA-256 of a model; equal for equal values."""
    return _sha256_of([("model", model)])


def _data_digest(rows: Rows, state_columns: tuple[str, ...]) -> str:
    data = rows.select(name for name in rows.columns if name not in state_columns)
    return _sha256_of([("ids", rows.ids), *data.arrays()])


def _sha256_of(named: Iterable[tuple[str, Array]]) -> str:
    digest = hashlib.sha256()
    for name, array in named:
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two fingerprints, in words; the cause, not its consequences."""
    for own in (("app",), ("parameters",), ("seed",)):
        changes = _changes(_flat(found, own), _flat(wanted, own))
        if changes:
            return changes
    if any(found.get(key) != wanted[key] for key in ("instances", "data")):
        return f"the data differ from those of the run ({_counts(found, wanted)})"
    return _changes(found, wanted)


def _flat(fingerprint: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Some entries; nested ones are replaced by their own entries."""
    flat: dict[str, Any] = {}
    for key in keys:
        value = fingerprint.get(key)
        flat |= value if isinstance(value, Mapping) else {key: value}
    return flat


def _changes(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """`rank was 4, is now 8`, for everything that differs."""
    return ", ".join(
        f"{key} was {found.get(key)}, is now {value}"
        for key, value in wanted.items()
        if found.get(key) != value
    )


def _counts(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    then, now = found.get("instances"), wanted["instances"]
    return f"{then} instances then, {now} now" if then != now else f"{now} instances, other values"
