"""Harmony: jobs share machines and take turns of CPU and network (W.-Y. Lee, 2020).

Jobs report the seconds of COMP and COMM of their iterations. From these a model predicts the
iteration time of jobs that share machines, and groups are chosen for the highest use of CPU and
network; they change when jobs arrive and end (chapter 4 of the dissertation).

Departures: `motet.harmony` has those of the groups. Jobs that cannot be grouped run alone, before
groups get machines: the paper has no such jobs. Profiles are looked at every `check_s` seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from motet.allocation.fill import Filled, fill
from motet.allocation.keep_current import next_multiple
from motet.allocation.order import order_by
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.decision import Decision, GroupForecast, Reasons
from motet.domain.errors import BadInput
from motet.domain.estimates import Overlap
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.units import NEVER_US, SECOND_US, SHORTEST_S, check_seconds, microseconds
from motet.domain.wait import Wait
from motet.estimate.colocation.group_time import CPU_WEIGHT
from motet.harmony.preferences.even_ends import preferring_even_ends
from motet.harmony.preferences.fewer_jobs import preferring_fewer_jobs
from motet.harmony.prefixes import paper_grouping
from motet.harmony.problem import JobGroup
from motet.harmony.schedule.apart import isolated_schedule, naive_schedule
from motet.harmony.schedule.chosen_machines import MachineSet, chosen_machines
from motet.harmony.schedule.from_snapshot import (
    MEMORY_COLUMNS,
    DataRules,
    group_memory,
    groupable_rows,
    machines_for_groups,
    scene_of,
    seconds_left,
    start_ups_us,
    usual_slots,
    usual_start_up_us,
)
from motet.harmony.schedule.group_columns import group_forecasts, spill_ratios
from motet.harmony.schedule.held_groups import GroupPlan, Scene
from motet.harmony.schedule.interleaved import interleaved_schedule
from motet.harmony.schedule.overlapping import asynchronous_jobs
from motet.harmony.schedule.use_with_job import uses_with_jobs
from motet.harmony.search import best_grouping, quick_grouping

_MEGA = 1e6


@dataclass(frozen=True)
class Harmony(Policy):
    """`grouping`: `harmony`, or a baseline: `isolated` (each job alone), `naive` (`naive_groups`
    groups to which jobs are dealt at random, `naive_deal` is the number of the deal).

    `objective`: groups are compared by the work that they do (`work`: COMM counts as on the fewest
    machines that have memory for the job), or by the use of CPU and network (`use`, eq. 4.4).
    `search`: `best`, or Algorithms 1 and 2 of the source (`paper`), which compare use.
    `reloading`: keep input on disk where memory does not suffice, if reading it at `disk_mb_rate`
    (MB per second, from each machine) delays no COMP (false: such groups are excluded).
    `cpu_weight`: of the CPU in the use of machines. `fewer_jobs`: the part of that use, or work,
    that is given up for fewer jobs at a time. `even_ends`: the part that is given up for groups
    whose jobs end together, by the iterations that they have left (0: ends do not count).
    `move_weight`: running jobs get other machines if that gains more work by the time at which they
    would end than they miss in so many times the measured time of a start (0: moves cost nothing,
    as with `search=paper`). `async_efficiency`: jobs whose users permit it train asynchronously if
    their group has too few others to fill the gaps, and an iteration of theirs is worth so much of
    another one (0: no job is switched); one that keeps its machines starts again to change if its
    group gains more by its first end than that costs. `check_s`: while jobs are profiled, decide at
    multiples of this interval.
    """

    grouping: Literal["harmony", "isolated", "naive"] = "harmony"
    objective: Literal["work", "use"] = "work"
    search: Literal["best", "paper"] = "best"
    reloading: bool = True
    disk_mb_rate: float = 200.0
    cpu_weight: float = CPU_WEIGHT
    fewer_jobs: float = 0.02
    even_ends: float = 0.0
    move_weight: float = 1.0
    async_efficiency: float = 0.0
    check_s: float = 60.0
    naive_groups: int = 10
    naive_deal: int = 0

    memory_columns: ClassVar[dict[str, int]] = dict(MEMORY_COLUMNS)
    wants_estimates: ClassVar[bool] = True
    needed_inputs: ClassVar[dict[JobInput, str]] = {
        JobInput.SUBTASKS: "jobs run alone on the GPUs that they request, in order of submission",
    }

    def __post_init__(self) -> None:
        check_seconds("check_s", self.check_s, SHORTEST_S)
        if not self.disk_mb_rate > 0:
            raise BadInput(f"disk_mb_rate={self.disk_mb_rate}: give a number above 0")
        if not 0.5 <= self.cpu_weight <= 1:
            raise BadInput(f"cpu_weight={self.cpu_weight}: must be from 0.5 to 1")
        for name in ("fewer_jobs", "even_ends"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"{name}={getattr(self, name)}: give a part, from 0 to below 1")
        if not 0 <= self.move_weight < float("inf"):
            raise BadInput(f"move_weight={self.move_weight}: give a number, 0 or more")
        if not 0 <= self.async_efficiency <= 1:
            raise BadInput(f"async_efficiency={self.async_efficiency}: give a part, 0 to 1")
        if self.naive_groups < 1:
            raise BadInput(f"naive_groups={self.naive_groups}: give at least 1")

    def decide(self, snapshot: Snapshot) -> Decision:
        """Lone jobs first, then the groups on the other machines."""
        subtasks, slots = snapshot.wanted_estimates.subtasks, usual_slots(snapshot)
        rows = groupable_rows(snapshot, subtasks, slots)
        lone = _lone_jobs(snapshot, rows)
        if subtasks is None or not len(rows):
            return Decision(lone.gpus, lone.reasons)
        machines = machines_for_groups(snapshot, lone.gpus, rows, slots)
        rules = DataRules(self.reloading, self.disk_mb_rate * _MEGA)
        scene = scene_of(snapshot, rows, subtasks, machines, slots, rules, self.cpu_weight)
        if self.objective == "work" and self.search == "best":
            scene = scene.counting_work()
        if self.move_weight and self.search == "best":
            start_up_us = max(usual_start_up_us(snapshot, start_ups_us(snapshot)), 0)
            move_s = self.move_weight * start_up_us / SECOND_US
            scene = replace(scene, seconds_left=seconds_left(snapshot, rows), move_s=move_s)
        if self.even_ends:
            left = snapshot.wanted_estimates.certain_steps_left[rows]
            scene = replace(scene, iterations_left=left)
        schedule = self._schedule(scene, snapshot.jobs.number[rows])
        places = chosen_machines(schedule.groups, scene.held, machines)
        made = _Made(snapshot, rows, lone)
        for group, place in zip(schedule.groups, places, strict=True):
            made.add(group, Placement(place, (slots,) * len(place)))
        ratios = spill_ratios(scene, schedule, subtasks, rows, rules)
        groups = [(group.jobs, group.machines) for group in schedule.groups]
        switched = self._switched(scene, schedule, places, snapshot, rows)
        memory = group_memory(snapshot, rows, scene, groups, schedule.is_settled)
        made.switch(switched)
        recheck_us = next_multiple(snapshot.now_us, microseconds(self.check_s))
        return made.decision(
            _waits(scene, schedule, self.grouping),
            memory,
            recheck_us if made.has_changes or _is_measuring(scene, schedule) else NEVER_US,
            ratios,
            group_forecasts(scene.overlapping(switched), schedule, rows),
        )

    def _switched(
        self,
        scene: Scene,
        schedule: GroupPlan,
        places: Sequence[MachineSet],
        snapshot: Snapshot,
        rows: Ints,
    ) -> Bools:
        """Jobs that train asynchronously by choice of the policy."""
        subtasks = snapshot.wanted_estimates.subtasks
        was_switched = snapshot.jobs.is_asynchronous[rows] == 1
        if subtasks is None or not (self.async_efficiency or was_switched.any()):
            return np.zeros(len(rows), np.bool_)
        is_permitted = subtasks.overlap[rows] == Overlap.PERMITTED
        jobs = is_permitted, was_switched
        return asynchronous_jobs(scene, schedule.groups, places, *jobs, self.async_efficiency)

    def _schedule(self, scene: Scene, numbers: Ints) -> GroupPlan:
        if not scene.machines:
            return GroupPlan((), scene.is_settled)
        match self.grouping:
            case "isolated":
                return isolated_schedule(scene)
            case "naive":
                lots = [np.random.default_rng([self.naive_deal, job]).random() for job in numbers]
                deal = np.argsort(lots, kind="stable").tolist()
                return naive_schedule(scene, self.naive_groups, deal)
        if self.search == "paper":
            return interleaved_schedule(scene, paper_grouping, paper_grouping)
        searches = (best_grouping, quick_grouping)
        few = (preferring_fewer_jobs(each, self.fewer_jobs) for each in searches)
        first, repair = (preferring_even_ends(each, self.even_ends) for each in few)
        return interleaved_schedule(scene, first, repair)


class _Made:
    """The columns of a decision: lone jobs, to which groups are added."""

    def __init__(self, snapshot: Snapshot, rows: Ints, lone: Filled) -> None:
        self._snapshot, self._rows = snapshot, rows
        self._gpus, self._reasons = lone.gpus.copy(), lone.reasons
        self._group = np.full(len(snapshot.jobs), UNKNOWN)
        self._places: dict[int, Placement] = {}
        self._asynchronous: Bools | None = None

    def switch(self, jobs: Bools) -> None:
        """These jobs train asynchronously, the others of the groups do not; `(rows,)`."""
        before = self._snapshot.jobs.is_asynchronous == 1
        if jobs.any() or before[self._rows].any():
            self._asynchronous = before & (self._snapshot.jobs.held_gpus > 0)
            self._asynchronous[self._rows] = jobs

    def add(self, group: JobGroup, place: Placement) -> None:
        """All jobs of a group get these machines."""
        members = self._rows[list(group.jobs)]
        self._gpus[members] = sum(place.counts)
        self._group[members] = members.min()
        self._places |= dict.fromkeys(members.tolist(), place)

    @property
    def has_changes(self) -> bool:
        """Whether a job of a group starts, also to train the other way, or gets other machines."""
        jobs, placements = self._snapshot.jobs, self._snapshot.placements
        before = jobs.is_asynchronous == 1
        after = before if self._asynchronous is None else self._asynchronous
        return any(
            placements.get(int(jobs.number[row])) != place or after[row] != before[row]
            for row, place in self._places.items()
        )

    def decision(
        self,
        waits: _GroupWaits,
        memory: dict[str, Ints],
        recheck_us: int,
        ratios: Floats | None,
        forecasts: dict[int, GroupForecast],
    ) -> Decision:
        """Jobs that stay come first, so that they keep their machines when groups part."""
        jobs, rows = self._snapshot.jobs, self._rows
        stays = np.zeros(len(jobs), dtype=np.bool_)
        for row, place in self._places.items():
            stays[row] = self._snapshot.placements.get(int(jobs.number[row])) == place
        is_grouped = np.zeros(len(jobs), dtype=np.bool_)
        is_grouped[rows] = True
        is_late = np.where(is_grouped, 0, 1) + np.where(self._gpus > 0, 0, 2)
        order = order_by(is_late, ~stays, jobs.held_gpus == 0, jobs.submit_us, jobs.number)
        position = np.empty(len(jobs), dtype=np.int64)
        position[order] = np.arange(len(jobs))
        code, free = self._reasons.code.copy(), self._reasons.free_gpus.copy()
        measure = np.full(len(jobs), np.nan)
        code[rows] = np.where(self._gpus[rows] > 0, int(Wait.RUNS), waits.code)
        measure[rows] = waits.measure
        free[rows] = self._snapshot.gpu_count - _distinct_gpus(self._gpus, self._group)
        workers = np.where(jobs.worker_gpus > 0, self._gpus // jobs.worker_gpus, 0)
        return Decision(
            self._gpus,
            Reasons(code, free, position, measure, waits.bar),
            self._places,
            workers=np.where(is_grouped, workers, np.where(self._gpus > 0, jobs.workers, 0)),
            servers=np.where(self._gpus > 0, jobs.servers, 0),
            group=self._group,
            recheck_at_us=recheck_us,
            memory=memory,
            spill=ratios,
            asynchronous=self._asynchronous,
            forecasts=forecasts,
        )


@dataclass(frozen=True, eq=False)
class _GroupWaits:
    """Of the jobs of a scene: codes of those that wait, the use of the machines with each of them,
    and the present one.
    """

    code: Ints
    measure: Floats
    bar: float


def _waits(scene: Scene, schedule: GroupPlan, grouping: str) -> _GroupWaits:
    """Jobs without a profile, and those of the baselines, lack machines with enough memory."""
    code = np.full(len(scene), int(Wait.GROUP_MEMORY))
    if grouping != "harmony":
        return _GroupWaits(code, np.full(len(scene), np.nan), float("nan"))
    present, measure = uses_with_jobs(scene, schedule.groups)
    code[~np.isnan(measure)] = int(Wait.NO_GAIN)
    return _GroupWaits(code, measure, present)


def _is_measuring(scene: Scene, schedule: GroupPlan) -> bool:
    """Whether a job without a profile runs."""
    return any(not scene.is_profiled[job] for group in schedule.groups for job in group.jobs)


def _lone_jobs(snapshot: Snapshot, rows: Ints) -> Filled:
    """Jobs that are not grouped, on their full request; jobs that run go first."""
    jobs = snapshot.jobs
    gpus = jobs.gpus.copy()
    gpus[rows] = 0
    is_grouped = np.zeros(len(jobs), dtype=np.bool_)
    is_grouped[rows] = True
    order = order_by(is_grouped, jobs.held_gpus == 0, jobs.submit_us, jobs.number)
    return fill(order, gpus, snapshot.gpu_count, may_overtake=True)


def _distinct_gpus(gpus: Ints, group: Ints) -> int:
    """Allocated GPUs; those of a group count once."""
    alone = int(gpus[group == UNKNOWN].sum())
    _, first = np.unique(group[group != UNKNOWN], return_index=True)
    return alone + int(gpus[group != UNKNOWN][first].sum())


POLICIES = {"harmony": Harmony}
