"""Random arrivals, exits, deaths, failures and measurements, in any order of completion.

`AggregatorWorld` checks each instruction; this file checks what holds after each event.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from aggregator_world import MS, AggregatorWorld, join
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.events import (
    AggregatorDrained,
    WorkerJoined,
    WorkerLeft,
    WorkerLost,
)
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.master.state.savepoint import SavedPool, restored, saved
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.pool_messages import PoolFull
from motet.domain.errors import BadInput
from motet.runtime.wire.codec import decode, encode

ITERATIONS_MS = (50, 60, 100, 101, 150)
RULES = ScalingRules(12, cluster_size=4)


class RandomPool(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = AggregatorWorld(PoolController(MasterSettings(RULES)))
        self.names = 0
        self.steps: dict[int, int] = {}

    @initialize(link_bps=st.sampled_from([None, 20_000]))
    def links_are_limited_or_not(self, link_bps: int | None) -> None:
        """A tensor of 32 bytes takes 26 ms if it has one worker and a replica."""
        settings = MasterSettings(RULES, link_bps=link_bps)
        self.world = AggregatorWorld(PoolController(settings))

    @property
    def jobs(self) -> list[int]:
        return list(self.world.controller.state.jobs)

    @rule(tensors=st.integers(1, 5), servers=st.integers(1, 4), workers=st.integers(1, 3))
    def a_job_arrives(self, tensors: int, servers: int, workers: int) -> None:
        self.names += 1
        request = join(f"job {self.names}", 0, workers, tensors, servers)
        try:
            self.world.handle(WorkerJoined(request, "00"))
        except PoolFull:
            assert len(self.jobs) >= 1

    @rule(data=st.data(), rank=st.integers(0, 4))
    @precondition(lambda self: self.jobs)
    def a_worker_joins(self, data: st.DataObject, rank: int) -> None:
        job = self.world.controller.state.jobs[data.draw(st.sampled_from(self.jobs))]
        request = join(job.name, rank, 1, len(job.homes), job.request.servers)
        try:
            self.world.handle(WorkerJoined(request, "00"))
        except BadInput:
            assert rank in job.present

    @rule(data=st.data(), rank=st.integers(0, 4), is_lost=st.booleans())
    @precondition(lambda self: self.jobs)
    def a_worker_goes(self, data: st.DataObject, rank: int, is_lost: bool) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        steps = self.steps.get(job, 0)
        self.world.handle(WorkerLost(job, rank) if is_lost else WorkerLeft(job, rank, steps))

    @rule(data=st.data())
    @precondition(lambda self: self.world.starting)
    def an_aggregator_starts(self, data: st.DataObject) -> None:
        self.world.start(data.draw(st.sampled_from(self.world.starting)))

    @rule(data=st.data(), fails=st.sampled_from([False, False, False, True]))
    @precondition(lambda self: self.world.pending)
    def an_operation_ends(self, data: st.DataObject, fails: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.world.pending)))
        if fails:
            self.world.fail(number)
        else:
            self.world.complete(number)

    @rule(data=st.data(), took_effect=st.booleans())
    @precondition(lambda self: self.world.aggregators)
    def an_aggregator_dies(self, data: st.DataObject, took_effect: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.world.aggregators)))
        self.world.kill(number, took_effect)

    @rule(
        data=st.data(),
        steps=st.sampled_from([5, 30, 150]),
        iteration_ms=st.sampled_from(ITERATIONS_MS),
        tensor_ms=st.sampled_from([1, 8, 30]),
    )
    @precondition(lambda self: self.jobs)
    def a_job_is_measured(
        self, data: st.DataObject, steps: int, iteration_ms: int, tensor_ms: int
    ) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        self.steps[job] = self.steps.get(job, 0) + steps
        self.world.measure(job, self.steps[job], iteration_ms * MS, tensor_ms * MS)

    @rule(data=st.data())
    @precondition(lambda self: self.world.replicas)
    def a_replica_does_not_answer(self, data: st.DataObject) -> None:
        """Its Aggregator waits, says so at the next measurement, and goes on when it is told."""
        key = data.draw(st.sampled_from(sorted(self.world.replicas)))
        self.world.lost.setdefault(self.world.homes[key], set()).add(self.world.replicas[key])

    @rule(data=st.data())
    @precondition(lambda self: self.world.aggregators)
    def an_aggregator_falls_silent(self, data: st.DataObject) -> None:
        self.world.silent.add(data.draw(st.sampled_from(sorted(self.world.aggregators))))

    @rule()
    @precondition(lambda self: self.world.condemned)
    def a_condemned_aggregator_ends(self) -> None:
        self.world.kill(self.world.condemned[0])

    @rule(data=st.data())
    @precondition(lambda self: self.world.controller.state.aggregators)
    def an_aggregator_is_to_leave(self, data: st.DataObject) -> None:
        numbers = sorted(self.world.controller.state.aggregators)
        self.world.handle(AggregatorDrained(data.draw(st.sampled_from(numbers))))

    @rule(seconds=st.sampled_from([0.5, 2.0, 40.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.tick(seconds)

    @rule()
    def everything_settles(self) -> None:
        for _ in range(3):  # What fails for the last time is tried again.
            self.world.tick(2.0)
            self.world.settle()
        state = self.world.controller.state
        for job in state.jobs.values():
            assert not job.heirs
            assert job.is_routed
            assert (job.replicas >= 0).all()
        assert not any(each.is_draining for each in state.aggregators.values())
        homes = {int(home) for job in state.jobs.values() for home in job.homes}
        spare = set(self.world.aggregators) - homes - set(state.bindings.values())
        assert len(spare) <= 1, "at most one Aggregator is for replicas alone"

    @rule(are_done=st.booleans())
    def pmaster_is_started_again(self, are_done: bool) -> None:
        old = self.world.controller.state
        head, _ = encode(saved(old))
        assert json.loads(head), "the state is a line of JSON"
        state = restored(old.settings, decode(SavedPool, head), self.world.now_s)
        assert encode(saved(state))[0] == head
        controller = self.world.controller = PoolController(old.settings, state)
        self.world.restart(are_done)
        self.world.take(controller.resume(set(self.world.aggregators)))

    @invariant()
    def every_tensor_has_an_aggregator_or_an_heir(self) -> None:
        state = self.world.controller.state
        for job in state.jobs.values():
            for tensor, home in enumerate(job.homes.tolist()):
                assert tensor in job.heirs or home in state.aggregators
            assert all(job.heirs.values())

    @invariant()
    def routes_agree_with_the_aggregators(self) -> None:
        state = self.world.controller.state
        for job in state.jobs.values():
            busy = {row for each in state.tensor_operations(job.number) for row in each.tensors}
            for tensor, home in enumerate(job.homes.tolist()):
                if job.is_routed and tensor not in busy and tensor not in job.heirs:
                    assert self.world.homes[job.number, tensor] == home
                    if job.replicas[tensor] >= 0:
                        assert self.world.replicas[job.number, tensor] == job.replicas[tensor]

    @invariant()
    def no_aggregator_is_overloaded_by_the_plan(self) -> None:
        pool = self.world.controller.state.pool
        for cluster in pool.clusters:
            assert (cluster.cycles(pool.rules.loss_limit).least_free_ns >= 0).all()


RandomPool.TestCase.settings = settings(stateful_step_count=40)
TestRandomPools = pytest.mark.timeout(600)(RandomPool.TestCase)
