"""The decision maker of a job that configures itself: from measurements to plans. Pure.

Fed with what single mini-batches cost (`observe`), it says whether the job should leave its
configuration (`decide`), and how. Besides the cost model it remembers what configurations really
took: it does not return to one that was no better, and goes back to one that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from motet.cruise.averages import Average, Calibrated, MovingAverages
from motet.cruise.fleet_view import FleetView, Memory
from motet.cruise.machine_assignment import BlockBytes
from motet.cruise.machine_state import MachineState
from motet.cruise.machine_types import CandidateMachine
from motet.cruise.plan import make_plan
from motet.cruise.search.problem import Roles
from motet.cruise.search.solver import Choice
from motet.cruise.trigger import (
    LEAST_GAIN,
    Change,
    Reason,
    Verdict,
    required_gain,
    review,
)
from motet.domain.reconfiguration import Plan, RoleCounts
from motet.estimate.epoch_cost import Configuration, Profile, epoch_s, even_shares

_STANDARD_ERRORS = 3.0
_ANOTHER_WORLD = 1.25
"""A configuration that takes so many times what it took: what was remembered is no longer true."""


@dataclass(frozen=True)
class BatchMeasurement:
    """One mini-batch of one machine's worker; `exchange_s`: PULL and PUSH without waiting."""

    machine: int
    comp_s: float
    exchange_s: float
    batch_s: float
    instances: int
    pulled_bytes: float
    pushed_bytes: float


@dataclass(frozen=True)
class Decision:
    """What to do now, and why. `plan`: None, or the way to `after`.

    `measured_s`: the epoch at the present pace; `predicted_s`: in the best configuration that was
    found, whether it is changed to or not; both None where nothing is known. `gain`: the part of
    the epoch that this saves. `machines`: that may be used.
    """

    reason: Reason
    before: RoleCounts
    after: RoleCounts
    machines: int
    measured_s: float | None = None
    predicted_s: float | None = None
    gain: float = 0.0
    plan: Plan | None = None


class Autopilot:
    """Of one job. `observe`, `decide`, and `restart` after every change of the job's machines."""

    def __init__(
        self,
        profile: Profile,
        block_bytes: BlockBytes,
        averages: MovingAverages | None = None,
        least_gain: float = LEAST_GAIN,
    ) -> None:
        """`profile.exchange_bytes` is measured: what is given does not matter."""
        self._profile = profile
        self._block_bytes = block_bytes
        self._averages = averages or MovingAverages()
        self._least_gain = least_gain
        self._memory = Memory()
        self._took: dict[tuple[object, ...], tuple[Average, Configuration]] = {}
        self._holders: frozenset[int] = frozenset()

    def restart(self, workers: Iterable[int]) -> None:
        """The job was reconfigured, or began: these machines work from now on."""
        self._averages.restart(workers)

    def observe(self, measured: BatchMeasurement) -> None:
        """A mini-batch is done."""
        per_instance_s = measured.comp_s / measured.instances if measured.instances else np.nan
        self._averages.observe(
            measured.machine,
            per_instance_s if per_instance_s > 0 else np.nan,
            measured.exchange_s,
            measured.batch_s,
            measured.pulled_bytes,
            measured.pushed_bytes,
            measured.comp_s,
        )

    def decide(
        self, machines: Sequence[CandidateMachine], states: Sequence[MachineState]
    ) -> Decision:
        """Whether to change, how, and why.

        `machines`: that are there, also those that leave; `states`: of the machines that have an
        executor, `type` does not matter. Where all machines leave there is nothing to decide.
        """
        self._averages.forget_what_was_otherwise()
        usable = [machine for machine in machines if not machine.is_leaving]
        there = {machine.number for machine in machines}
        leaving = [s for s in states if s.machine in there - {m.number for m in usable}]
        is_lost = not self._holders <= there
        self._holders = frozenset(state.machine for state in states)
        if not usable:
            count = _role_counts(states)
            return Decision(Reason.WARMING_UP, count, count, 0)
        view = self._memory.view(usable, states, self._averages.comp_s())
        if any(state.holds_blocks for state in leaving):
            return self._forced(Change.RECLAIMED, view, states)
        if is_lost and not self._memory.is_empty:
            return self._forced(Change.LOST, view, states)
        if leaving:
            # Their executors hold nothing and end; the others stay as they are.
            kept = Verdict(Reason.DRAIN, Choice(view.current, np.nan))
            return self._decision(kept, view, states, None, 0.0)
        if not self._averages.is_ready:
            count = _role_counts(states)
            return Decision(Reason.WARMING_UP, count, count, len(usable))
        return self._weighed(view, states)

    # -- for a gain ------------------------------------------------------------------------------

    def _weighed(self, view: FleetView, states: Sequence[MachineState]) -> Decision:
        profile = self._profile = self._measured_profile(view)
        view, found = self._memory.calibrate(view, profile, self._averages)
        batch = _slowest(self._averages.batch_s().values())
        measured_s = batch.mean_s * profile.global_batches
        modelled_s = epoch_s(profile, view.fleet, view.current)
        # Latencies of exchanges, and what is in neither COMP nor COMM.
        overhead_s = max(measured_s - modelled_s, 0.0)
        self._remember(view, batch)
        verdict = self._review(view, found, overhead_s)
        verdict = self._with_hindsight(verdict, view, batch)
        return self._decision(verdict, view, states, measured_s, overhead_s)

    def _measured_profile(self, view: FleetView) -> Profile:
        """With the bytes that an exchange moves: as measured, for a worker with all of the data."""
        moved = list(self._averages.moved_bytes().values())
        blocks = np.array([blocks for blocks in view.current.data_blocks if blocks], dtype=float)
        part = float(self._profile.exchanged_part(blocks).mean())
        return replace(self._profile, exchange_bytes=float(np.mean(moved)) / part if moved else 0.0)

    def _review(self, view: FleetView, found: Calibrated, overhead_s: float) -> Verdict:
        return review(
            self._profile,
            found,
            view.current,
            roles=_roles(view),
            least_gain=self._least_gain,
            overhead_s=overhead_s,
        )

    def _remember(self, view: FleetView, batch: Average) -> None:
        """What a mini-batch takes in the present configuration."""
        key = _key(view, view.current)
        before, _ = self._took.get(key, (batch, view.current))
        if not 1 / _ANOTHER_WORLD < batch.mean_s / before.mean_s < _ANOTHER_WORLD:
            self._took.clear()
            self._memory.forget_exchanges()
        self._took[key] = batch, view.current

    def _with_hindsight(self, verdict: Verdict, view: FleetView, now: Average) -> Verdict:
        """Measured times, where there are, instead of predicted ones."""
        here = {key: took for key, took in self._took.items() if key[0] == _signature(view)}
        if verdict.choice is not None and verdict.is_change:
            took, _ = here.get(_key(view, verdict.choice.configuration), (None, None))
            if took is not None and not self._is_better(took, now):
                gain = 1 - took.mean_s / now.mean_s
                verdict = Verdict(Reason.TOO_LITTLE_GAIN, verdict.choice, verdict.current_s, gain)
        best, configuration = min(here.values(), key=lambda took: took[0].mean_s)
        if not verdict.is_change and self._is_better(best, now):
            batches = self._profile.global_batches
            choice = Choice(configuration, best.mean_s * batches)
            gain = 1 - best.mean_s / now.mean_s
            return Verdict(Reason.BACK, choice, now.mean_s * batches, gain)
        return verdict

    def _is_better(self, took: Average, now: Average) -> bool:
        """Beyond the noise of both."""
        errors = [_STANDARD_ERRORS * it.error_s / it.mean_s for it in (took, now) if it.mean_s > 0]
        return 1 - took.mean_s / now.mean_s >= required_gain(errors, self._least_gain)

    # -- for machines that go --------------------------------------------------------------------

    def _forced(self, change: Change, view: FleetView, states: Sequence[MachineState]) -> Decision:
        """As well as it is known: without measurements everybody's roles stay."""
        if self._memory.is_empty:
            choice = Choice(_evened(self._profile, view), np.nan)
            verdict = Verdict(Reason.DRAIN, choice)
        else:
            known = Calibrated(view.fleet)
            verdict = review(self._profile, known, view.current, change, _roles(view))
        return self._decision(verdict, view, states, None, 0.0)

    def _decision(
        self,
        verdict: Verdict,
        view: FleetView,
        states: Sequence[MachineState],
        measured_s: float | None,
        overhead_s: float,
    ) -> Decision:
        before, choice = _role_counts(states), verdict.choice
        assert choice is not None
        after = RoleCounts(choice.configuration.worker_count, choice.configuration.server_count)
        # What was measured holds all of the overhead.
        more_s = 0.0 if verdict.reason is Reason.BACK else overhead_s
        return Decision(
            verdict.reason,
            before,
            after if verdict.is_change else before,
            view.fleet.size,
            measured_s,
            choice.epoch_s + more_s if np.isfinite(choice.epoch_s) else None,
            verdict.gain,
            self._plan(view, states, choice.configuration) if verdict.is_change else None,
        )

    def _plan(self, view: FleetView, states: Sequence[MachineState], wanted: Configuration) -> Plan:
        type_of = view.type_of
        typed = [replace(each, type=type_of.get(each.machine)) for each in states]
        idle = type_of.keys() - {each.machine for each in states}
        typed += [MachineState(m, type_of[m]) for m in view.machines if m in idle]
        return make_plan(typed, view.fleet, wanted, self._block_bytes)


def _role_counts(states: Iterable[MachineState]) -> RoleCounts:
    """Machines with data and machines with model blocks."""
    listed = list(states)
    return RoleCounts(
        sum(bool(each.data_blocks) for each in listed),
        sum(bool(each.model_blocks) for each in listed),
    )


def _roles(view: FleetView) -> Roles:
    return Roles.BOTH if view.fleet.size == 1 else Roles.SEPARATE


def _signature(view: FleetView) -> object:
    """Which machines there are, by type."""
    return tuple(alike.machines for alike in view.types)


def _key(view: FleetView, configuration: Configuration) -> tuple[object, ...]:
    """Configurations with the same key take the same time: so much by type."""
    kinds = view.fleet.type_of
    by_type = tuple(
        (int((blocks > 0).sum()), int(blocks.sum()))
        for table in (configuration.data_blocks, configuration.model_blocks)
        for blocks in (np.array(table)[kinds == kind] for kind in range(len(view.types)))
    )
    return _signature(view), by_type


def _slowest(averages: Iterable[Average]) -> Average:
    """That of the worker for whom it takes longest: who is done earlier waits in the next one.

    So in an epoch's last one nobody has waited yet: a mean over workers would be too short.
    Workers wait for each other, so their errors are one.
    """
    listed = list(averages)
    return Average(max(each.mean_s for each in listed), max(each.error_s for each in listed))


def _evened(profile: Profile, view: FleetView) -> Configuration:
    """Everybody who stays keeps the role; one who has none takes a role that nobody has."""
    places = range(view.fleet.size)
    workers = [i for i in places if view.current.data_blocks[i]]
    servers = [i for i in places if view.current.model_blocks[i]]
    free = [i for i in places if i not in {*workers, *servers}]
    if not servers:
        servers = [free.pop() if free else workers[-1]]
        workers = [i for i in workers if i not in servers] or servers
    if not workers:
        workers = [free.pop() if free else servers[0]]
        servers = [i for i in servers if i not in workers] or workers
    return Configuration(
        _dealt(profile.data_blocks, workers, view.fleet.size),
        _dealt(profile.model_blocks, servers, view.fleet.size),
    )


def _dealt(blocks: int, holders: Sequence[int], machines: int) -> tuple[int, ...]:
    """Even shares for the holders."""
    held = dict(zip(holders, even_shares(blocks, len(holders)), strict=True))
    return tuple(held.get(place, 0) for place in range(machines))
