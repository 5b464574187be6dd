"""A job whose mini-batches cost what the cost model says, and some noise: drives a tuner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from motet.cruise.calibration.averages import BatchMeasurement
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import TuningDecision
from motet.cruise.machine_assignment import BlockBytes
from motet.cruise.machine_state import MachineState
from motet.cruise.search.solver import best_configuration
from motet.cruise.tuner import ConfigurationTuner
from motet.domain.reconfiguration import Add, Move, Plan
from motet.estimate.epoch_cost import (
    Configuration,
    Fleet,
    MachineType,
    Profile,
    epoch_s,
    exchange_s,
    worker_epochs_s,
)

Extra = Callable[[int, int], float]


def even_states(
    machines: Sequence[int], workers: int, servers: int, profile: Profile
) -> list[MachineState]:
    """Workers from the first machine on, servers from the last one back."""

    def dealt(blocks: int, holders: Sequence[int]) -> dict[int, tuple[int, ...]]:
        return {one: tuple(range(i, blocks, len(holders))) for i, one in enumerate(holders)}

    data = dealt(profile.data_blocks, machines[:workers])
    model = dealt(profile.model_blocks, machines[len(machines) - servers :])
    return [
        MachineState(one, None, data.get(one, ()), model.get(one, ()))
        for one in machines
        if one in data or one in model
    ]


@dataclass
class SimulatedJob:
    """`comp_s`: of every machine that is there, seconds per instance; `bandwidth`: of all links.

    `overhead_s(workers, servers)`: per mini-batch, unknown to the cost model.
    """

    profile: Profile
    comp_s: dict[int, float]
    bandwidth: float
    states: list[MachineState]
    noise: float = 0.0
    seed: int = 0
    overhead_s: Extra = lambda workers, servers: 0.0
    kinds: Mapping[int, str] = field(default_factory=dict)
    leaving: set[int] = field(default_factory=set)
    decisions: list[TuningDecision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        # The tuner measures the exchange itself.
        without_exchange = replace(self.profile, exchange_bytes=0.0)
        self.tuner = ConfigurationTuner(without_exchange, BlockBytes(1e6, 1e5))
        self.tuner.restart(self.workers)

    @property
    def workers(self) -> list[int]:
        return [state.machine for state in self.states if state.data_blocks]

    @property
    def machines(self) -> list[CandidateMachine]:
        return [
            CandidateMachine(one, self.kinds.get(one, "machine"), one in self.leaving)
            for one in self.comp_s
        ]

    @property
    def fleet(self) -> Fleet:
        kinds = tuple(MachineType(str(one), 1, seconds) for one, seconds in self.comp_s.items())
        return Fleet(kinds, ((self.bandwidth,) * len(kinds),) * len(kinds))

    @property
    def configuration(self) -> Configuration:
        held = {state.machine: state for state in self.states}
        return Configuration(
            tuple(len(held[n].data_blocks) if n in held else 0 for n in self.comp_s),
            tuple(len(held[n].model_blocks) if n in held else 0 for n in self.comp_s),
        )

    def epoch_s(self) -> float:
        """What an epoch really takes now."""
        now = self.configuration
        overhead_s = self.overhead_s(now.worker_count, now.server_count)
        return epoch_s(self.profile, self.fleet, now) + overhead_s * self.profile.global_batches

    def best_s(self) -> float:
        """By the cost model, of machines grouped by their real speeds."""
        speeds = sorted(set(self.comp_s.values()))
        counts = [list(self.comp_s.values()).count(speed) for speed in speeds]
        kinds = tuple(MachineType(str(s), n, s) for s, n in zip(speeds, counts, strict=True))
        fleet = Fleet(kinds, ((self.bandwidth,) * len(kinds),) * len(kinds))
        return best_configuration(self.profile, fleet).epoch_s

    def run(self, batches: int) -> None:
        """So many mini-batches of every worker."""
        fleet, now, machines = self.fleet, self.configuration, list(self.comp_s)
        moved_s = exchange_s(self.profile, fleet, now)
        own_s = worker_epochs_s(self.profile, fleet, now) / self.profile.global_batches
        own_s += self.overhead_s(now.worker_count, now.server_count)
        for number, machine in enumerate(self.workers * batches):
            place = machines.index(machine)
            # Who is done earlier waits in the next mini-batch, in an epoch's last one not at all.
            is_first = number // len(self.workers) % self.profile.global_batches == 0
            took_s = own_s[place] if is_first else own_s.max()
            share = now.data_blocks[place] / self.profile.data_blocks
            instances = max(round(share * self.profile.batch_size), 1)
            part = float(self.profile.exchanged_part(np.array([now.data_blocks[place]]))[0])
            comp, comm, batch = (1 + self.noise) ** self.rng.uniform(-1, 1, 3)
            self.tuner.observe(
                BatchMeasurement(
                    machine,
                    self.comp_s[machine] * instances * comp,
                    moved_s[place] * comm,
                    took_s * batch,
                    instances,
                    self.profile.exchange_bytes * part,
                    0.0,
                )
            )

    def look(self) -> TuningDecision:
        """Let it decide, and do what it says."""
        decision = self.tuner.decide(self.machines, self.states)
        self.decisions.append(decision)
        if decision.plan is not None:
            self.states = after(self.states, decision.plan)
            self.tuner.restart(self.workers)
        return decision

    def live(self, looks: int, batches: int = 20) -> list[TuningDecision]:
        """Train and look in turn; the decisions that changed something."""
        made = []
        for _ in range(looks):
            self.run(batches)
            made.append(self.look())
        return [decision for decision in made if decision.plan is not None]


def after(states: Sequence[MachineState], plan: Plan) -> list[MachineState]:
    """Who holds what when a plan has been carried out."""
    held = {s.machine: {"data": set(s.data_blocks), "model": set(s.model_blocks)} for s in states}
    for operation in plan.operations:
        if isinstance(operation, Add):
            held.setdefault(operation.executor, {"data": set(), "model": set()})
        elif isinstance(operation, Move):
            held[operation.source][operation.table] -= set(operation.blocks)
            held[operation.destination][operation.table] |= set(operation.blocks)
    return [
        MachineState(machine, None, tuple(sorted(has["data"])), tuple(sorted(has["model"])))
        for machine, has in held.items()
        if has["data"] or has["model"]
    ]
