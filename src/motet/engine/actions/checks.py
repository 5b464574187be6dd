"""Validation of a policy's decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.decision import Decision, Reasons
from motet.domain.estimates import Overlap
from motet.domain.snapshot import UNKNOWN, JobTable, Placement, Snapshot
from motet.domain.wait import WAITS, Wait
from motet.engine.actions.roles import first_impossible, roles_of
from motet.engine.state.partners import rows_by_group

_LAST_CODE = int(max(Wait))
_REQUIRED = ("gpus", "reasons.code", "reasons.free_gpus", "reasons.position")
_OPTIONAL = ("reasons.usable_gpus", "reasons.until_us", "workers", "servers", "share", "group")
_COLUMNS = (*_REQUIRED, *_OPTIONAL)
_WHOLE = (int, np.integer)
_BY_ROW = ("places", "memory", "forecasts", "exclude")
_KNOWN_CODES = f"0 (runs), {', '.join(f'{int(wait)} ({wait.reason.name})' for wait in WAITS)}"


class DecisionProblem(NamedTuple):
    """`text`: the error and the valid values; `row`: the job's, or UNKNOWN."""

    text: str
    row: int = UNKNOWN


def problem_of(
    decision: object, snapshot: Snapshot, *, has_elastic: bool = True
) -> DecisionProblem | None:
    """The first error in a policy's decision; None for a valid one.

    `has_elastic`: whether any job may be elastic; checks of roles are skipped otherwise.
    """
    if not isinstance(decision, Decision) or not isinstance(decision.reasons, Reasons):
        return _wrong_type(decision)
    return (
        _wrong_columns(decision, snapshot.jobs.gpus.shape)
        or _wrong_mappings(decision)
        or _wrong_measure(decision, snapshot.jobs.gpus.shape)
        or _wrong_time(decision, snapshot)
        or _wrong_allocation(decision, snapshot, has_elastic=has_elastic)
        or _wrong_rows_of_places(decision, snapshot)
        or _wrong_memory(decision, snapshot)
        or _wrong_asynchronous(decision, snapshot)
    )


def _wrong_type(decision: object) -> DecisionProblem:
    if isinstance(decision, Decision):
        return DecisionProblem(f"reasons must be Reasons, not {_kind(decision.reasons)}")
    return DecisionProblem(
        f"it returned {_kind(decision)}; return a motet.domain.decision.Decision"
    )


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"one of {value.dtype}"
    return "None" if value is None else type(value).__name__


def _wrong_columns(decision: Decision, shape: tuple[int, ...]) -> DecisionProblem | None:
    reasons = decision.reasons
    columns: tuple[Any, ...] = (
        decision.gpus,
        reasons.code,
        reasons.free_gpus,
        reasons.position,
        reasons.usable_gpus,
        reasons.until_us,
        decision.workers,
        decision.servers,
        decision.share,
        decision.group,
    )
    for name, column in zip(_COLUMNS, columns, strict=True):
        if column is None and name in _OPTIONAL:
            continue
        if not isinstance(column, np.ndarray) or column.dtype.kind != "i":
            return DecisionProblem(
                f"{name} must be a NumPy array of whole numbers, not {_kind(column)}"
            )
        if column.shape != shape:
            return DecisionProblem(
                f"{name} has {column.size} rows for {shape[0]} jobs; give one for each"
            )
    return None


def _wrong_mappings(decision: Decision) -> DecisionProblem | None:
    mappings: tuple[Any, ...] = (
        decision.places,
        decision.memory,
        decision.forecasts,
        decision.exclude,
    )
    for name, mapping in zip(_BY_ROW, mappings, strict=True):
        # The usual type first: a look at an abstract class takes several times as long.
        if type(mapping) is not dict and not isinstance(mapping, Mapping):
            return DecisionProblem(f"{name} must be a dictionary, not {_kind(mapping)}")
    return None


def _wrong_measure(decision: Decision, shape: tuple[int, ...]) -> DecisionProblem | None:
    measure: object = decision.reasons.measure
    if measure is None:
        return _wrong_spill(decision.spill, shape)
    if not isinstance(measure, np.ndarray) or measure.shape != shape:
        text = f"reasons.measure must be an array with a number for each of {shape[0]} jobs"
        return DecisionProblem(text)
    if np.shape(decision.reasons.bar) not in ((), shape):
        return DecisionProblem(f"reasons.bar must be a number, or one for each of {shape[0]} jobs")
    return _wrong_spill(decision.spill, shape)


def _wrong_spill(spill: object, shape: tuple[int, ...]) -> DecisionProblem | None:
    if spill is None:
        return None
    if not isinstance(spill, np.ndarray) or spill.shape != shape:
        return DecisionProblem(f"spill must be an array with a number for each of {shape[0]} jobs")
    wrong = np.flatnonzero(~((spill >= 0) & (spill <= 1)))
    if len(wrong):
        return DecisionProblem(f"spill={spill[wrong[0]]:g}: give a part, 0 to 1", int(wrong[0]))
    return None


def _wrong_time(decision: Decision, snapshot: Snapshot) -> DecisionProblem | None:
    recheck_us: object = decision.recheck_at_us
    if not isinstance(recheck_us, _WHOLE):
        return DecisionProblem(f"recheck_at_us={recheck_us} is no whole number of microseconds")
    if recheck_us <= snapshot.now_us:
        return DecisionProblem(f"recheck_at_us={recheck_us} is not after now_us={snapshot.now_us}")
    return None


def _wrong_allocation(
    decision: Decision, snapshot: Snapshot, *, has_elastic: bool
) -> DecisionProblem | None:
    if decision.group is None:
        return _wrong_rows(decision, snapshot, 0, has_elastic=has_elastic)
    grouped = rows_by_group(decision)
    shared_gpus, unequal = _within_groups(grouped, decision.group, decision.gpus)
    return (
        _wrong_rows(decision, snapshot, shared_gpus, has_elastic=has_elastic)
        or _unequal_group(decision, unequal)
        or _wrong_places_of_groups(decision, grouped)
    )


def _wrong_rows(
    decision: Decision, snapshot: Snapshot, shared_gpus: int, *, has_elastic: bool
) -> DecisionProblem | None:
    """`shared_gpus`: how many too many are counted where every job counts its own."""
    jobs, gpus = snapshot.jobs, decision.gpus
    code, whole = decision.reasons.code, jobs.gpus
    if has_elastic:
        whole = np.where(jobs.is_elastic, gpus, whole)  # _wrong_roles checks elastic jobs.
    row, gpus_of_jobs = _first_wrong(gpus, whole, code, _LAST_CODE)
    used_gpus = gpus_of_jobs - shared_gpus
    if used_gpus > snapshot.gpu_count:
        return DecisionProblem(f"{used_gpus} GPUs allocated of {snapshot.gpu_count}")
    if row == UNKNOWN:
        return _wrong_roles(decision, jobs) if has_elastic else None
    if not 0 <= code[row] <= _LAST_CODE:
        return DecisionProblem(f"reasons.code={code[row]}; it is one of {_KNOWN_CODES}", row)
    return DecisionProblem(
        f"{gpus[row]} of its {jobs.gpus[row]} GPUs allocated; a rigid job gets all or none", row
    )


@njit(cache=True)
def _first_wrong(gpus: Ints, wanted: Ints, code: Ints, last_code: int) -> tuple[int, int]:
    """The first row with part of a gang or an unknown code, UNKNOWN if there is none; all GPUs."""
    total, are_wrong = 0, False
    for row in range(len(gpus)):  # Without branches: the compiler uses vectors.
        total += gpus[row]
        are_wrong |= _is_wrong(gpus[row], wanted[row], code[row], last_code)
    if are_wrong:
        for row in range(len(gpus)):
            if _is_wrong(gpus[row], wanted[row], code[row], last_code):
                return row, total
    return UNKNOWN, total


@njit(cache=True)
def _is_wrong(gpus: int, wanted: int, code: int, last_code: int) -> bool:
    is_part = (gpus < 0) | ((gpus != 0) & (gpus != wanted))
    return is_part | (code < 0) | (code > last_code)


def _wrong_roles(decision: Decision, jobs: JobTable) -> DecisionProblem | None:
    roles = roles_of(decision, jobs)
    row = first_impossible(decision, roles, jobs)
    if row is None:
        return None
    return DecisionProblem(
        f"{roles.workers[row]} workers and {roles.servers[row]} servers on {decision.gpus[row]} "
        f"GPUs; it takes {jobs.min_workers[row]} to {jobs.max_workers[row]} workers of "
        f"{jobs.worker_gpus[row]} and {jobs.min_servers[row]} to {jobs.max_servers[row]} servers "
        f"of {jobs.server_gpus[row]}",
        row,
    )


@njit(cache=True)
def _within_groups(grouped: Ints, group: Ints, gpus: Ints) -> tuple[int, int]:
    """GPUs of all jobs of groups but the first of each; the first row with another number of GPUs
    than the row before it in its group, UNKNOWN if there is none. `grouped`: rows by group."""
    shared_gpus, unequal = 0, UNKNOWN
    for place in range(1, len(grouped)):
        before, row = grouped[place - 1], grouped[place]
        if group[row] == group[before]:
            shared_gpus += gpus[row]
            if unequal == UNKNOWN and gpus[row] != gpus[before]:
                unequal = row
    return shared_gpus, unequal


def _unequal_group(decision: Decision, row: int) -> DecisionProblem | None:
    if row == UNKNOWN or decision.group is None:
        return None
    text = f"group={decision.group[row]}: only jobs of equally many GPUs can share them"
    return DecisionProblem(text, row)


def _wrong_places_of_groups(decision: Decision, grouped: Ints) -> DecisionProblem | None:
    """`grouped`: rows by group."""
    if decision.group is None or not decision.places:
        return None
    rows, group = grouped.tolist(), decision.group[grouped].tolist()
    for place in range(1, len(rows)):
        before, row = rows[place - 1], rows[place]
        if group[place] != group[place - 1]:
            continue
        if decision.places.get(before) != decision.places.get(row):
            text = f"group={group[place]}: name the same place for all of its jobs, or none"
            return DecisionProblem(text, row)
    return None


def _wrong_rows_of_places(decision: Decision, snapshot: Snapshot) -> DecisionProblem | None:
    try:  # Without a look at the type of every row: decisions of Gandiva have hundreds of them.
        return _wrong_places(decision, snapshot)
    except TypeError:
        if all(isinstance(row, int | np.integer) for row in decision.places):
            return DecisionProblem("places: give machines and counts as tuples of whole numbers")
        return DecisionProblem("places: its keys must be rows of jobs, whole numbers")


def _wrong_places(decision: Decision, snapshot: Snapshot) -> DecisionProblem | None:
    if not decision.places:
        return None
    jobs, size = snapshot.jobs, len(snapshot.jobs)
    number, held, wanted = jobs.number.item, jobs.held_gpus.item, decision.gpus.item
    for row, at in decision.places.items():
        is_known = 0 <= row < size and held(row) == wanted(row)
        if is_known and snapshot.placements.get(number(row)) is at:
            continue  # It was checked when the job came there.
        if (problem := _wrong_place(row, at, decision, snapshot)) is not None:
            return problem
    return None


def _wrong_place(
    row: int, at: object, decision: Decision, snapshot: Snapshot
) -> DecisionProblem | None:
    if not isinstance(at, Placement):
        return DecisionProblem(f"places[{row}] must be a Placement, not {_kind(at)}")
    if not 0 <= row < len(snapshot.jobs):
        return DecisionProblem(f"places[{row}]: there are {len(snapshot.jobs)} rows")
    size, gpus = snapshot.cluster.size, decision.gpus[row]
    if not all(0 <= machine < size for machine in at.machines):
        return DecisionProblem(f"places: machines {at.machines}; there are {size}, from 0", row)
    if len(at.machines) != len(at.counts) or sum(at.counts) != gpus:
        text = f"places: {at.counts} GPUs on machines {at.machines}, but gpus is {gpus}"
        return DecisionProblem(text, row)
    return None


def _wrong_memory(decision: Decision, snapshot: Snapshot) -> DecisionProblem | None:
    shape = snapshot.jobs.gpus.shape
    for name, values in decision.memory.items():
        if name not in snapshot.memory:
            return DecisionProblem(f"memory[{name!r}] is none of its memory_columns")
        if not isinstance(values, np.ndarray) or values.dtype.kind != "i":
            return DecisionProblem(f"memory[{name!r}] must be an array of whole numbers")
        if values.shape != shape:
            return DecisionProblem(f"memory[{name!r}] has {values.size} rows for {shape[0]} jobs")
    return None


def _wrong_asynchronous(decision: Decision, snapshot: Snapshot) -> DecisionProblem | None:
    column: object = decision.asynchronous
    if column is None:
        return None
    shape = snapshot.jobs.gpus.shape
    if not isinstance(column, np.ndarray) or column.dtype.kind != "b" or column.shape != shape:
        text = f"asynchronous must be an array of truth values, one for each of {shape[0]} jobs"
        return DecisionProblem(text)
    subtasks = None if snapshot.estimates is None else snapshot.estimates.subtasks
    may = np.zeros(shape, np.bool_) if subtasks is None else subtasks.overlap == Overlap.PERMITTED
    wrong = np.flatnonzero(column & ~may)
    if len(wrong):
        return DecisionProblem("asynchronous: its user does not permit that", int(wrong[0]))
    return None
