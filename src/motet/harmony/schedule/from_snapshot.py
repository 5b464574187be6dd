"""The `Scene` of a snapshot: which jobs and machines Harmony may group, and what it remembers.

A machine of a group is one all of whose slots the group holds. Jobs are grouped that report COMP
and COMM, whose worker takes all slots of a machine (of the cluster's most frequent size), and that
run on any number of machines. All other jobs run alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.estimates import Overlap, SubtaskEstimates
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import JobCosts
from motet.harmony.schedule.held_groups import HeldGroup, Scene
from motet.harmony.spill_ratio import SpillableJob

BLOCKS = 100
"""Blocks of a job's input: the ratio on disk is a multiple of 1 %."""
_MICRO = 1e6
MEMORY_COLUMNS: Mapping[str, int] = {
    "settled": 0,
    "own_comp_us": 0,
    "own_comm_us": 0,
    "group_comp_us": 0,
    "group_comm_us": 0,
    "group_jobs": 0,
    "start_up_us": UNKNOWN,
    "usual_start_up_us": UNKNOWN,
}
"""Of each job: whether it was profiled at the last decision; COMP and COMM of its own and of its
group, and the number of the group's jobs, at that decision. What the members of a group do not
account for belongs to jobs that have ended. `start_up_us`: the shortest from a start on machines to
training; `usual_start_up_us`: the usual one of all jobs, which outlives those in which it was seen;
UNKNOWN: none was seen."""


@dataclass(frozen=True)
class DataRules:
    """`reloading`: whether input is kept on disk where memory does not suffice; `disk_bytes_per_s`:
    read from the disk of one machine.
    """

    reloading: bool
    disk_bytes_per_s: float


def usual_slots(snapshot: Snapshot) -> int:
    """The most frequent number of slots of a machine, the smallest of equally frequent ones; 0 of
    an empty cluster."""
    sizes, counts = np.unique(snapshot.cluster.gpus[snapshot.cluster.gpus > 0], return_counts=True)
    return int(sizes[counts.argmax()]) if len(sizes) else 0


def groupable_rows(snapshot: Snapshot, subtasks: SubtaskEstimates | None, slots: int) -> Ints:
    """Rows of jobs that may share machines, by number."""
    jobs = snapshot.jobs
    if subtasks is None or not slots:
        return np.zeros(0, dtype=np.int64)
    fits: Bools = subtasks.are_reported & (jobs.worker_gpus == slots) & (jobs.min_workers == 1)
    fits &= jobs.max_workers >= snapshot.cluster.size
    fits &= (jobs.servers * jobs.server_gpus == 0) & (jobs.min_servers == jobs.max_servers)
    if snapshot.free_cpus is not None:
        fits &= (jobs.cpus == 0) & (jobs.memory_bytes == 0)
    rows = np.flatnonzero(fits)
    return rows[np.argsort(jobs.number[rows])]


def machines_for_groups(
    snapshot: Snapshot, lone_gpus: Ints, rows: Ints, slots: int
) -> tuple[int, ...]:
    """Machines that lone jobs neither hold nor need: of those without a group the last ones are
    left to lone jobs that start, then those of the last groups.
    """
    jobs, cluster = snapshot.jobs, snapshot.cluster
    held = np.zeros(cluster.size, dtype=np.int64)
    in_group = np.zeros(cluster.size, dtype=np.bool_)
    grouped = {*rows.tolist()}
    for row in np.flatnonzero(jobs.held_gpus > 0).tolist():
        place = snapshot.placements[int(jobs.number[row])]
        if row in grouped:
            in_group[list(place.machines)] = True
        elif lone_gpus[row]:
            held[list(place.machines)] += place.counts
    can = (cluster.gpus == slots) & (held == 0)
    starting = int(lone_gpus[jobs.held_gpus == 0].sum())
    beside = int((cluster.gpus - held)[~can].sum())
    missing = -(-max(starting - beside, 0) // slots)
    machines = sorted(np.flatnonzero(can).tolist(), key=lambda each: (not in_group[each], each))
    return tuple(sorted(machines[: max(len(machines) - missing, 0)]))


def scene_of(
    snapshot: Snapshot,
    rows: Ints,
    subtasks: SubtaskEstimates,
    machines: Sequence[int],
    slots: int,
    rules: DataRules,
    cpu_weight: float,
) -> Scene:
    """`rows`: as `groupable_rows`; `machines`: that groups may have, of `slots` slots each."""
    jobs = snapshot.jobs
    is_profiled = subtasks.is_measured[rows]
    order = np.lexsort((jobs.number[rows], jobs.submit_us[rows]))
    known = (subtasks.divided_s, subtasks.constant_s, subtasks.comm_s, subtasks.outside_s)
    divided_s, constant_s, comm_s, outside_s = (
        np.where(is_profiled, each[rows], 0.0) for each in known
    )
    memory = np.array([each.least_bytes for each in spillable_jobs(subtasks, rows, rules)])
    if not rules.reloading:
        memory = subtasks.input_bytes[rows] + subtasks.model_bytes[rows]
    fixed_bytes, overlaps = subtasks.machine_bytes[rows], subtasks.overlap[rows] == Overlap.ALWAYS
    costs = JobCosts(divided_s, constant_s, comm_s, memory, fixed_bytes, outside_s)
    if overlaps.any():
        costs = costs._replace(overlaps=overlaps.astype(float))
    return Scene(
        costs,
        tuple(order.tolist()),
        is_profiled,
        (snapshot.memory["settled"][rows] == 1) & is_profiled,
        _held_groups(snapshot, rows, frozenset(machines), slots),
        tuple(machines),
        _machine_memory_bytes(snapshot, machines),
        cpu_weight,
    )


def seconds_left(snapshot: Snapshot, rows: Ints) -> Floats:
    """Until the predicted end of each job, at the mean speed that it had; NaN where unknown."""
    estimates = snapshot.wanted_estimates
    done = np.where(estimates.steps_done > 0, estimates.steps_done, np.nan)
    per_step_s = snapshot.jobs.executed_us / _MICRO / done
    left: Floats = (estimates.certain_steps_left * per_step_s)[rows]
    return left


def start_ups_us(snapshot: Snapshot) -> Ints:
    """The shortest start of each job that was seen, else UNKNOWN. The first one does not count: in
    a simulation it takes no time."""
    jobs, before = snapshot.jobs, snapshot.memory["start_up_us"]
    is_ready = (jobs.held_gpus > 0) & (jobs.ready_us < NEVER_US)
    is_ready &= jobs.last_start_us > jobs.first_start_us
    # A change of its speed sets `ready_us` of a job later, so the shortest one is the start.
    latest = np.where(is_ready, jobs.ready_us - jobs.last_start_us, before)
    shortest: Ints = np.where(before >= 0, np.minimum(before, latest), latest)
    return shortest


def usual_start_up_us(snapshot: Snapshot, start_ups: Ints) -> int:
    """The median of the starts that were seen of present jobs, else the usual one of the decision
    before, else UNKNOWN."""
    seen = start_ups[start_ups >= 0]
    if len(seen):
        return round(float(np.median(seen)))
    return int(snapshot.memory["usual_start_up_us"].max(initial=UNKNOWN))


def spillable_jobs(
    subtasks: SubtaskEstimates, rows: Sequence[int] | Ints, rules: DataRules
) -> list[SpillableJob]:
    """The data of jobs. Before a profile, reading is taken not to delay COMP."""
    found = []
    for row in rows:
        input_bytes, model_bytes = (
            float(subtasks.input_bytes[row]),
            float(subtasks.model_bytes[row]),
        )
        load_s = max(input_bytes / BLOCKS / rules.disk_bytes_per_s, 1e-12)
        comp_s = float(subtasks.divided_s[row]) + float(subtasks.constant_s[row])
        process_s = comp_s / BLOCKS if subtasks.is_measured[row] else load_s
        found.append(SpillableJob(input_bytes, model_bytes, BLOCKS, process_s, load_s))
    return found


def _machine_memory_bytes(snapshot: Snapshot, machines: Sequence[int]) -> float:
    """The least memory of these machines; infinity where the cluster counts none."""
    memory = snapshot.cluster.memory_bytes[list(machines)]
    known = memory[memory > 0]
    return float(known.min()) if len(known) else float("inf")


def _held_groups(
    snapshot: Snapshot, rows: Ints, machines: frozenset[int], slots: int
) -> tuple[HeldGroup, ...]:
    """Present groups, by their first job; jobs on other machines or with a part of one do not
    count as running."""
    jobs = snapshot.jobs
    members: dict[Placement, list[int]] = {}
    for index, row in enumerate(rows.tolist()):
        place = snapshot.placements.get(int(jobs.number[row]))
        if place is None or not machines.issuperset(place.machines):
            continue
        if all(count == slots for count in place.counts):
            members.setdefault(place, []).append(index)
    return tuple(
        HeldGroup(tuple(together), place.machines, _ended(snapshot, rows[together]))
        for place, together in members.items()
    )


def _ended(snapshot: Snapshot, rows: Ints) -> SubtaskTimes | None:
    """What the jobs of a group do not account for of its times at the last decision."""
    memory = snapshot.memory
    if memory["group_jobs"][rows[0]] <= len(rows):
        return None
    comp_us = memory["group_comp_us"][rows[0]] - memory["own_comp_us"][rows].sum()
    comm_us = memory["group_comm_us"][rows[0]] - memory["own_comm_us"][rows].sum()
    if comp_us <= 0:
        return None
    return SubtaskTimes(float(comp_us) / _MICRO, float(max(comm_us, 0)) / _MICRO)


def group_memory(
    snapshot: Snapshot,
    rows: Ints,
    scene: Scene,
    groups: Sequence[tuple[tuple[int, ...], int]],
    is_settled: Bools,
) -> dict[str, Ints]:
    """The memory columns after a decision for these groups (jobs, machines)."""
    found = {name: np.zeros(len(snapshot.jobs), dtype=np.int64) for name in MEMORY_COLUMNS}
    found["settled"][rows], found["start_up_us"] = is_settled, start_ups_us(snapshot)
    found["usual_start_up_us"][:] = usual_start_up_us(snapshot, found["start_up_us"])
    problem = scene.problem(max(len(scene.machines), 1))
    for jobs, machines in groups:
        times = [problem.times(job, machines) for job in jobs]
        own_comp = np.array([round(each.comp_s * _MICRO) for each in times], dtype=np.int64)
        own_comm = np.array([round(each.comm_s * _MICRO) for each in times], dtype=np.int64)
        of = rows[list(jobs)]
        found["own_comp_us"][of], found["own_comm_us"][of] = own_comp, own_comm
        found["group_comp_us"][of], found["group_comm_us"][of] = own_comp.sum(), own_comm.sum()
        found["group_jobs"][of] = len(jobs)
    return found
