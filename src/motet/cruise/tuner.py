"""Decisions about a job's configuration from measurements of mini-batches. Pure.

Uses the cost model and the measured times of the job's earlier configurations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from motet.cruise.calibration.averages import Average, BatchMeasurement, MovingAverages
from motet.cruise.calibration.fleet_memory import FleetMemory
from motet.cruise.calibration.fleet_view import FleetView
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import LEAST_GAIN, TuningDecision, TuningReason
from motet.cruise.kept_roles import configuration_with_kept_roles
from motet.cruise.machine_assignment import BlockBytes
from motet.cruise.machine_state import MachineState
from motet.cruise.measured_configurations import MeasuredConfigurations
from motet.cruise.plan import make_plan
from motet.cruise.search.problem import RoleMode
from motet.cruise.search.solver import Choice, best_configuration
from motet.cruise.size_proposal import SizeBounds, propose_size
from motet.cruise.trigger import Verdict, review
from motet.domain.reconfiguration import Plan, RoleCounts
from motet.estimate.epoch_cost import Configuration, Profile, epoch_s


@dataclass(frozen=True)
class _Situation:
    """The input of a decision: the usable machines, and the states of all executors."""

    view: FleetView
    states: Sequence[MachineState]

    @property
    def role_mode(self) -> RoleMode:
        return RoleMode.BOTH if self.view.fleet.size == 1 else RoleMode.SEPARATE


class ConfigurationTuner:
    """Tuner of one job: `observe`, `decide`, and `restart` after every change of its machines."""

    def __init__(
        self,
        profile: Profile,
        block_bytes: BlockBytes,
        averages: MovingAverages | None = None,
        least_gain: float = LEAST_GAIN,
        bounds: SizeBounds | None = None,
    ) -> None:
        """`profile.exchange_bytes` is measured; its given value has no effect. `bounds`: of a job
        that may ask for other numbers of machines."""
        self._bounds = bounds
        self._profile = profile
        self._block_bytes = block_bytes
        self._averages = averages or MovingAverages()
        self._least_gain = least_gain
        self._memory = FleetMemory()
        self._measured = MeasuredConfigurations(least_gain)
        self._executors: frozenset[int] = frozenset()

    def restart(self, workers: Iterable[int]) -> None:
        """Start of the job or of a reconfigured generation: these machines have workers from now
        on.
        """
        self._averages.restart(workers)

    def observe(self, measured: BatchMeasurement) -> None:
        """Add the measurement of a mini-batch that a worker finished."""
        self._averages.observe(measured)

    def decide(
        self, machines: Sequence[CandidateMachine], states: Sequence[MachineState]
    ) -> TuningDecision:
        """The decision: whether to change, to which configuration, and the reason.

        `machines`: present machines, including those that leave; `states`: of the machines with an
        executor; their `type` has no effect. If all machines leave, the configuration is kept.
        """
        self._averages.drop_outdated()
        present = {machine.number for machine in machines}
        usable = [machine for machine in machines if not machine.is_leaving]
        to_leave = present - {machine.number for machine in usable}
        leaving = [state for state in states if state.machine in to_leave]
        is_lost = not self._executors <= present
        self._executors = frozenset(state.machine for state in states)
        if not usable:
            return _kept(TuningReason.WARMING_UP, states, machines=0)
        view = self._memory.view(usable, states, self._averages.comp_s())
        situation = _Situation(view, states)
        if any(state.holds_blocks for state in leaving):
            return self._forced(TuningReason.DRAIN, situation)
        if is_lost and not self._memory.is_empty:
            return self._forced(TuningReason.RECOVER, situation)
        if leaving:
            # The executors of these machines hold nothing and end; the others stay unchanged.
            return self._change(_without_prediction(TuningReason.DRAIN, view.current), situation)
        if not self._averages.is_ready:
            return _kept(TuningReason.WARMING_UP, states, len(usable))
        return self._for_gain(situation)

    # -- for a gain ------------------------------------------------------------------------------

    def _for_gain(self, situation: _Situation) -> TuningDecision:
        profile = self._profile = self._measured_profile(situation.view)
        view, calibrated = self._memory.calibrate(situation.view, profile, self._averages)
        situation = replace(situation, view=view)
        batch = _slowest(self._averages.batch_s().values())
        measured_s = batch.mean * profile.global_batches
        # Latencies of exchanges, and time outside COMP and COMM.
        overhead_s = max(measured_s - epoch_s(profile, view.fleet, view.current), 0.0)
        if not self._measured.record(view, batch):
            self._memory.forget_exchanges()
        verdict = review(
            profile,
            calibrated,
            view.current,
            situation.role_mode,
            self._least_gain,
            overhead_s,
        )
        verdict = self._measured.corrected(verdict, view, batch, profile.global_batches)
        decision = self._change(verdict, situation, measured_s, overhead_s)
        if self._bounds is None or verdict.reason.is_change:
            return decision
        error = calibrated.epoch_error(profile, view.current)
        proposal = propose_size(profile, view.fleet, self._bounds, measured_s, overhead_s, error)
        return replace(decision, proposal=proposal)

    def _measured_profile(self, view: FleetView) -> Profile:
        """The profile with the measured exchange bytes of a worker with all of the data."""
        moved = list(self._averages.moved_bytes().values())
        blocks = np.array([blocks for blocks in view.current.data_blocks if blocks], dtype=float)
        part = float(self._profile.exchanged_part(blocks).mean())
        return replace(self._profile, exchange_bytes=float(np.mean(moved)) / part if moved else 0.0)

    # -- for machines that leave -----------------------------------------------------------------

    def _forced(self, reason: TuningReason, situation: _Situation) -> TuningDecision:
        """The best configuration by the last known costs; without costs, all roles stay."""
        view = situation.view
        if self._memory.is_empty:
            kept = configuration_with_kept_roles(self._profile, view)
            return self._change(_without_prediction(TuningReason.DRAIN, kept), situation)
        best = best_configuration(self._profile, view.fleet, situation.role_mode)
        return self._change(Verdict(reason, best), situation)

    # -- decisions -------------------------------------------------------------------------------

    def _change(
        self,
        verdict: Verdict,
        situation: _Situation,
        measured_s: float | None = None,
        overhead_s: float = 0.0,
    ) -> TuningDecision:
        before, choice = _role_counts(situation.states), verdict.choice
        after = RoleCounts(choice.configuration.worker_count, choice.configuration.server_count)
        is_change = verdict.reason.is_change
        # A measured epoch contains all of the overhead.
        more_s = 0.0 if verdict.reason is TuningReason.BACK else overhead_s
        return TuningDecision(
            verdict.reason,
            before,
            after if is_change else before,
            situation.view.fleet.size,
            measured_s,
            choice.epoch_s + more_s if np.isfinite(choice.epoch_s) else None,
            verdict.gain,
            self._plan(situation, choice.configuration) if is_change else None,
        )

    def _plan(self, situation: _Situation, wanted: Configuration) -> Plan:
        view, states = situation.view, situation.states
        type_of = view.type_of
        typed = [replace(state, type=type_of.get(state.machine)) for state in states]
        idle = type_of.keys() - {state.machine for state in states}
        typed += [MachineState(m, type_of[m]) for m in view.machines if m in idle]
        return make_plan(typed, view.fleet, wanted, self._block_bytes)


def _kept(reason: TuningReason, states: Sequence[MachineState], machines: int) -> TuningDecision:
    counts = _role_counts(states)
    return TuningDecision(reason, counts, counts, machines)


def _without_prediction(reason: TuningReason, configuration: Configuration) -> Verdict:
    return Verdict(reason, Choice(configuration, np.nan))


def _role_counts(states: Sequence[MachineState]) -> RoleCounts:
    """Machines with data blocks and machines with model blocks."""
    return RoleCounts(
        sum(bool(state.data_blocks) for state in states),
        sum(bool(state.model_blocks) for state in states),
    )


def _slowest(averages: Iterable[Average]) -> Average:
    """The mini-batch of the worker with the longest mini-batches.

    A worker that finishes earlier waits in the next mini-batch; in the last one of an epoch no
    worker has waited, so a mean over workers would be too short. The workers' errors are
    correlated, since they wait for each other.
    """
    listed = list(averages)
    return Average(max(each.mean for each in listed), max(each.standard_error for each in listed))
