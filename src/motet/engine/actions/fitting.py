"""Reduce a decision to the CPUs and memory of the machines.

Most policies count GPUs only, and any free GPUs can host a gang. If the CPUs or the memory beside
them do not suffice, the job waits, or an elastic job runs with fewer workers. A policy that names
machines itself must respect their CPUs and memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot
from motet.domain.wait import Wait
from motet.engine.actions.checks import DecisionProblem
from motet.engine.actions.diff import SlotChange
from motet.engine.actions.roles import JobSize, smaller_size
from motet.engine.state.partners import present_sets
from motet.placement.planner import Planner
from motet.placement.room import ResourceDemand, Room


class Overcommitted(Exception):
    """A policy named machines without enough free GPUs, CPUs or memory."""

    def __init__(self, problem: DecisionProblem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class Fitting:
    """Finds machines for the changes of one decision, in the policy's order."""

    def __init__(
        self, snapshot: Snapshot, decision: Decision, planner: Planner, closed: Ints
    ) -> None:
        """`closed`: machines that take no jobs."""
        self._snapshot, self._decision, self._planner = snapshot, decision, planner
        self._closed = closed
        self._room = Room.seen(snapshot)
        self._standing = dict(snapshot.placements)
        size = len(snapshot.jobs)
        self._gpus, self._places = decision.gpus.copy(), dict(decision.places)
        self._code = decision.reasons.code.copy()
        self._free_gpus = decision.reasons.free_gpus.copy()
        self._usable_gpus = np.full(size, UNKNOWN, dtype=np.int64)
        self._workers: Ints = np.zeros(size, dtype=np.int64)
        self._servers: Ints = np.zeros(size, dtype=np.int64)

    def fit(self, changes: Sequence[SlotChange], partners: Mapping[int, Sequence[int]]) -> Decision:
        """The decision with a place for every change that fits; the other jobs wait.

        Raises Overcommitted.
        """
        jobs = self._snapshot.jobs
        self._workers[:], self._servers[:] = jobs.held_workers, jobs.held_servers
        self._take_back(changes)
        for change in changes:
            if change.wanted:
                self._settle(change, partners.get(change.number, ()))
        reasons = replace(
            self._decision.reasons,
            code=self._code,
            free_gpus=self._free_gpus,
            usable_gpus=self._usable_gpus,
        )
        return replace(
            self._decision,
            gpus=self._gpus,
            reasons=reasons,
            places=self._places,
            workers=self._workers,
            servers=self._servers,
        )

    def _take_back(self, changes: Sequence[SlotChange]) -> None:
        """Release the slots of all changes; of jobs on the same GPUs the last releases them."""
        jobs = self._snapshot.jobs
        sets = present_sets(jobs).tolist()
        left = Counter(sets[row] for row in np.flatnonzero(jobs.held_gpus).tolist())
        for change in changes:
            if change.held:
                left[sets[change.row]] -= 1
                place, stays = self._standing.pop(change.number), left[sets[change.row]] > 0
                self._room.give_back(place, self._demand(change.row), shares_gpus=stays)
        self._room.gpus[self._closed] = 0

    def _settle(self, change: SlotChange, partners: Sequence[int]) -> None:
        demand = self._demand(change.row)
        host = next((self._standing[job] for job in partners if job in self._standing), None)
        shares_gpus = host is not None
        place = host or self._place(change, change.wanted)
        if place is None and (smaller := self._smaller(change)) is not None:
            change = smaller
            place = self._place(change, change.wanted)
        if place is None or not self._room.holds(place, demand, shares_gpus=shares_gpus):
            self._keep_waiting(change.row, demand, change.wanted)
            return
        self._room.take(place, demand, shares_gpus=shares_gpus)
        self._standing[change.number] = self._places[change.row] = place
        self._gpus[change.row] = sum(place.counts)
        self._workers[change.row], self._servers[change.row] = change.workers, change.servers

    def _place(self, change: SlotChange, gpus: int) -> Placement | None:
        """Machines for `gpus` GPUs; None if they do not fit. Raises Overcommitted."""
        if change.kept is not None:
            return change.kept
        chosen, demand = self._decision.places.get(change.row), self._demand(change.row)
        if chosen is not None:
            if np.isin(self._closed, chosen.machines).any():
                return None
            self._check(chosen, change.row, demand)
            return chosen
        free = self._room.gpus_for(demand)
        if free.sum() < gpus:
            return None
        return self._planner.place(free, gpus, int(self._snapshot.jobs.model[change.row]))

    def _check(self, place: Placement, row: int, demand: ResourceDemand) -> None:
        for machine, gpus in zip(*place, strict=True):
            if not self._room.holds(Placement((machine,), (gpus,)), demand):
                cpus, memory_bytes = demand.beside(gpus)
                text = (
                    f"places: {gpus} GPUs, {cpus} CPUs and {memory_bytes} bytes on machine "
                    f"{machine}, which has {self._room.gpus[machine]}, {self._room.cpus[machine]} "
                    f"and {self._room.memory_bytes[machine]} free"
                )
                raise Overcommitted(DecisionProblem(text, row))

    def _smaller(self, change: SlotChange) -> SlotChange | None:
        """The change with as many workers as fit; None for a job that must not be changed."""
        jobs, row = self._snapshot.jobs, change.row
        if not jobs.is_elastic[row] or row in self._decision.places:
            return None
        room = int(self._room.gpus_for(self._demand(row)).sum())
        wanted = JobSize(change.workers, change.servers, change.wanted)
        found = smaller_size(jobs, row, wanted, room)
        return change._replace(wanted=found.gpus, workers=found.workers, servers=found.servers)

    def _keep_waiting(self, row: int, demand: ResourceDemand, gpus: int) -> None:
        """`gpus`: the smallest number with which the job could run."""
        shortage = self._room.shortage(demand, gpus)
        code = shortage if shortage != Wait.RUNS else Wait.TOO_LITTLE_MEMORY
        self._code[row], self._free_gpus[row] = code, int(self._room.gpus.sum())
        if code != Wait.TOO_FEW_GPUS:
            short = demand._replace(memory_bytes=0) if code == Wait.TOO_FEW_CPUS else demand
            self._usable_gpus[row] = int(self._room.gpus_for(short).sum())
        self._gpus[row] = self._workers[row] = self._servers[row] = 0
        self._places.pop(row, None)

    def _demand(self, row: int) -> ResourceDemand:
        return ResourceDemand.of(self._snapshot.jobs, row)
