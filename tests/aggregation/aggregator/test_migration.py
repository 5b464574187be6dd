"""Tensors move while workers train: the curve is the same to the bit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aggregation_training import AggregatorPool, SmallTraining, pull_all, same, same_state
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.aggregator import migration
from motet.aggregation.aggregator.migration import Migration
from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.replication import Replication
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.job_tensors import JobTensors
from motet.domain.errors import MotetError, NotFound, Unreachable
from two_steps import TwoSteps
from waiting import wait_until

TRAINING = SmallTraining(steps=12, kind="adam", options={"lr": 0.1})
OF_SMALL_TENSORS = replace(TRAINING, shapes=tuple((size,) for size in range(1, 19)))
"""Six at each of three Aggregators: they have joint accounts there."""


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(3) as pool:
        yield pool


class OnceInStep:
    """Starts something on another thread before rank 0's step."""

    def __init__(self, threads: ThreadPoolExecutor, step: int, call: Callable[[], None]) -> None:
        self._threads, self._step, self._call = threads, step, call
        self.future: Future[None] | None = None

    def __call__(self, rank: int, step: int) -> None:
        if rank == 0 and step == self._step:
            self.future = self._threads.submit(self._call)


@pytest.mark.parametrize(
    ("training", "step"),
    [
        (TRAINING, 1),
        (TRAINING, 4),
        (OF_SMALL_TENSORS, 5),
        (replace(OF_SMALL_TENSORS, in_bucket=True), 5),
    ],
)
def test_a_model_that_moves_while_it_trains_keeps_its_curve(
    pool: AggregatorPool, training: SmallTraining, step: int
) -> None:
    def move() -> None:
        for source, target in ((0, 2), (1, 0)):
            tensors = pool.table.on(source)
            pool.aggregators[source].move(1, tensors, pool.peer(target))

    with ThreadPoolExecutor(1) as threads:
        moving = OnceInStep(threads, step, move)
        found = training.run(pool.table, moving)
        assert moving.future is not None
        moving.future.result(60)
    values, state = training.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


def test_all_tensors_are_at_the_new_aggregator_afterwards(pool: AggregatorPool) -> None:
    def move() -> None:
        pool.aggregators[0].move(1, pool.table.on(0), pool.peer(1))

    with ThreadPoolExecutor(1) as threads:
        moving = OnceInStep(threads, 2, move)
        TRAINING.run(pool.table, moving)
        assert moving.future is not None
        moving.future.result(60)
    replace(TRAINING, steps=TRAINING.steps + 1).run(pool.table)
    assert set(pool.aggregators[1].measurements()[0].tensor_ns) >= set(pool.table.on(0))
    assert none_is_served(pool, 0)


def noting(method: Callable[..., Any], called: threading.Event) -> Callable[..., Any]:
    """A method that tells when it has been called."""

    def noted(self: Any, *arguments: Any) -> Any:
        found = method(self, *arguments)
        called.set()
        return found

    return noted


def none_is_served(pool: AggregatorPool, aggregator: int) -> bool:
    """Whether the tensors that were there at first are not; replicas of them may be."""
    for tensor in pool.table.on(aggregator):
        with pytest.raises(NotFound, match="is not here"):
            pool.aggregators[aggregator].replicate(1, [tensor], pool.peer(1))
    return True


def test_a_tensor_that_is_not_here_cannot_move(pool: AggregatorPool) -> None:
    with pytest.raises(NotFound, match="tensor 7 of job 1 is not here"):
        pool.aggregators[0].move(1, [7], pool.peer(1))


def test_a_move_to_a_dead_aggregator_leaves_the_tensor_where_it_is(pool: AggregatorPool) -> None:
    dead = pool.peer(2)
    pool.table.routes(TRAINING.specs)
    pool.table.move(pool.table.on(2), 1)
    pool.aggregators[2].close()
    errors = []

    def move() -> None:
        try:
            pool.aggregators[0].move(1, pool.table.on(0), dead)
        except Unreachable as error:
            errors.append(error)

    with ThreadPoolExecutor(1) as threads:
        found = TRAINING.run(pool.table, OnceInStep(threads, 3, move))
    values, _ = TRAINING.with_torch()
    assert all(same(own, values) for own, _ in found)
    assert len(errors) == 1


@pytest.mark.parametrize("heir", [1, 2])
def test_gradients_that_came_before_a_copy_are_sent_again_if_it_never_comes(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, heir: int
) -> None:
    """The replica is at the target, or on a third Aggregator; the workers know it at once."""
    every = range(len(TRAINING.shapes))
    pool.table.routes(TRAINING.specs)
    pool.table.move(every, 0)
    has_departed, goes_on = threading.Event(), threading.Event()

    def before_copy(self: Replication, tenant: Tenant) -> None:
        has_departed.set()
        goes_on.wait()

    def die() -> None:
        arriving = pool.aggregators[1].tenant(1).tensors.slots
        has_departed.wait()
        wait_until(lambda: all(slot.has_gradients() for slot in arriving.values()))
        pool.aggregators[heir].promote(1, every)
        pool.table.move(every, heir)
        pool.aggregators[0].close()
        goes_on.set()

    with ThreadPoolExecutor(2) as threads:

        def on_step(rank: int, step: int) -> None:
            if rank == 0 and step == 3:
                pool.aggregators[0].replicate(1, every, pool.peer(heir))
                monkeypatch.setattr(Replication, "await_quiet", before_copy)
                calls.append(threads.submit(pool.aggregators[0].move, 1, every, pool.peer(1)))
                calls.append(threads.submit(die))

        calls: list[Future[None]] = []
        try:
            found = TRAINING.run(pool.table, on_step)
        finally:
            goes_on.set()
        calls[1].result(60)
        with pytest.raises(MotetError):
            calls[0].result(60)
    values, state = TRAINING.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


@pytest.mark.parametrize("heir", [1, 2])
def test_gradients_that_nobody_waits_for_are_sent_again_if_the_copy_never_comes(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, heir: int
) -> None:
    """The new Aggregator has answered them, or keeps them for its replica."""
    training = replace(TRAINING, steps=4, workers=1)
    every = range(len(training.shapes))
    pool.table.routes(training.specs)
    pool.table.move(every, 0)
    are_held, has_departed, goes_on = threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(Tenant, "present", noting(Tenant.present, are_held))

    def before_copy(self: Replication, tenant: Tenant) -> None:
        has_departed.set()
        goes_on.wait()

    def begin_move() -> Future[None]:
        pool.aggregators[0].replicate(1, every, pool.peer(heir))
        monkeypatch.setattr(Replication, "await_quiet", before_copy)
        move = threads.submit(pool.aggregators[0].move, 1, every, pool.peer(1))
        are_held.wait()
        return move

    def die() -> None:
        slots = pool.aggregators[1].tenant(1).tensors.slots
        has_departed.wait()
        wait_until(
            lambda: len(slots) == len(every) and all(s.has_gradients() for s in slots.values())
        )
        pool.aggregators[0].close()
        if heir != 1:
            wait_until(lambda: not slots)
        pool.aggregators[heir].promote(1, every)
        pool.table.move(every, heir)

    values = training.initial()
    agent = NumpyAgent(pool.table, 0, 1)
    agent.initialise(training.specs, training.spec, values)
    with ThreadPoolExecutor(1) as threads:
        try:
            for step in range(1, training.steps + 1):
                if step == 2:
                    move = begin_move()
                training.push_all(agent, values, step)
                if step == 3:
                    agent.flush()
                    die()
                agent.finish_step([training.options_in(step)])
                if step >= 3:
                    state = agent.state()  # The first request that waits.
                pull_all(agent, values)
        finally:
            goes_on.set()
        with pytest.raises(MotetError):
            move.result(60)
    agent.close()
    expected, expected_state = training.with_torch()
    assert same(values, expected)
    assert same_state(state, expected_state)


def test_gradients_are_sent_back_if_the_connection_of_a_move_breaks(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has died, and the replica is at the new Aggregator."""
    training = replace(TRAINING, steps=4, workers=1)
    every = range(len(training.shapes))
    pool.table.routes(training.specs)
    pool.table.move(every, 0)
    are_held, breaks = threading.Event(), threading.Event()
    monkeypatch.setattr(Tenant, "present", noting(Tenant.present, are_held))

    def broken(*arguments: Any) -> None:
        breaks.wait()
        raise Unreachable("the connection broke")

    slots = pool.aggregators[1].tenant(1).tensors.slots
    values = training.initial()
    agent = NumpyAgent(pool.table, 0, 1)
    agent.initialise(training.specs, training.spec, values)
    with ThreadPoolExecutor(1) as threads:
        try:
            for step in range(1, training.steps + 1):
                if step == 2:
                    pool.aggregators[0].replicate(1, every, pool.peer(1))
                    monkeypatch.setattr(PeerConnections, "watch", broken)
                    monkeypatch.setattr(Migration, "_copy", broken)
                    move = threads.submit(pool.aggregators[0].move, 1, every, pool.peer(1))
                    are_held.wait()
                training.push_all(agent, values, step)
                if step == 3:
                    agent.flush()
                    wait_until(lambda: all(slot.has_gradients() for slot in slots.values()))
                    breaks.set()
                    wait_until(lambda: not slots)
                agent.finish_step([training.options_in(step)])
                pull_all(agent, values)
        finally:
            breaks.set()
        with pytest.raises(Unreachable):
            move.result(60)
    agent.close()
    assert same(values, training.with_torch()[0])


def test_an_unused_tensor_ends_its_steps_at_the_heir_of_one_that_never_arrived(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker has sent no gradient, only the ends of steps, and has waited for no value."""
    used, unused, heir = 0, 1, 2
    training = replace(TRAINING, workers=1)
    pool.table.routes(training.specs)
    pool.table.move(range(len(training.shapes)), 0)
    pool.table.move([used], heir)
    has_departed, goes_on = threading.Event(), threading.Event()

    def before_copy(self: Replication, tenant: Tenant) -> None:
        has_departed.set()
        goes_on.wait()

    values = training.initial()
    agent = NumpyAgent(pool.table, 0, 1)
    agent.initialise(training.specs, training.spec, values)
    pool.aggregators[0].replicate(1, [unused], pool.peer(heir))

    def do_step() -> None:
        agent.push(used, values[used])
        agent.finish_step([training.options])
        agent.pull(used, values[used]).wait()

    monkeypatch.setattr(Replication, "await_quiet", before_copy)
    with ThreadPoolExecutor(1) as threads:
        try:
            move = threads.submit(pool.aggregators[0].move, 1, [unused], pool.peer(1))
            while not has_departed.is_set():
                do_step()
            for _ in range(3):
                do_step()
            slots = pool.aggregators[1].tenant(1).tensors.slots
            pool.aggregators[0].close()
            wait_until(lambda: not slots)
            pool.aggregators[heir].promote(1, [unused])
            pool.table.move([unused], heir)
            agent.pull(unused, values[unused]).wait(60)
        finally:
            goes_on.set()
        with pytest.raises(MotetError):
            move.result(60)
    agent.close()


def test_a_tensor_that_no_worker_uses_ends_its_steps_at_the_new_aggregator(
    pool: AggregatorPool,
) -> None:
    """Nothing is awaited from the old one any more, which says where the tensor is."""
    used, unused = 0, 1
    pool.table.routes(TRAINING.specs)
    pool.table.move(range(len(TRAINING.shapes)), 0)
    values = TRAINING.initial()
    agent = NumpyAgent(pool.table, 0, 1)
    step = agent.initialise(TRAINING.specs, TRAINING.spec, values)

    def do_step() -> None:
        agent.push(used, values[used])
        agent.finish_step([TRAINING.options])
        agent.pull(used, values[used]).wait()

    with ThreadPoolExecutor(1) as threads:
        move = threads.submit(pool.aggregators[0].move, 1, [used, unused], pool.peer(1))
        while not move.done():
            do_step()
            step += 1
        move.result()
    for _ in range(2):  # The first one finds out, the second one goes to the new place.
        do_step()
        step += 1
    slots = pool.aggregators[1].tenant(1).tensors.slots
    wait_until(lambda: slots[unused].version == step, 60)
    agent.close()


def test_values_that_are_loaded_during_a_move_replace_those_of_its_copy(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tensors have departed, their copies have not come when the Agent loads others."""
    has_departed, goes_on, waits = threading.Event(), threading.Event(), threading.Event()
    await_versions = JobTensors.await_versions

    def before_copy(self: Replication, tenant: Tenant) -> None:
        has_departed.set()
        goes_on.wait()

    def noted(self: JobTensors, *arguments: Any) -> Effects:
        waits.set()
        return await_versions(self, *arguments)

    agent = NumpyAgent(pool.table, 0, 1)
    values = TRAINING.initial()
    agent.initialise(TRAINING.specs, TRAINING.spec, values)
    loaded = [value + 1 for value in values]
    monkeypatch.setattr(Replication, "await_quiet", before_copy)
    monkeypatch.setattr(JobTensors, "await_versions", noted)
    with ThreadPoolExecutor(2) as threads:
        move = threads.submit(pool.aggregators[0].move, 1, pool.table.on(0), pool.peer(1))
        has_departed.wait()
        load = threads.submit(agent.load, loaded, [{}] * len(values))
        try:
            wait_until(lambda: load.done() or waits.is_set())
        finally:
            goes_on.set()
        load.result(60)
        move.result(60)
    pull_all(agent, values)
    agent.close()
    assert same(values, loaded)


def test_means_follow_a_tensor_too(pool: AggregatorPool) -> None:
    """The program runs its own optimizer: no pull tells the Agent where the tensor is."""
    training = replace(TRAINING, shapes=((4,), (2, 2)))
    last_step: list[int] = []

    def work(agent: NumpyAgent) -> None:
        values = training.initial()
        agent.initialise(training.specs, training.spec, values)
        step = 1
        while not last_step or step <= last_step[0]:
            if agent.rank == 0 and step > 3 and move.done() and not last_step:
                last_step.append(step + 2)
            for tensor, value in enumerate(values):
                agent.push(tensor, np.full_like(value, step * (agent.rank + 1)))
            for pending in [agent.mean(tensor, each) for tensor, each in enumerate(values)]:
                pending.wait(60)
            assert [set(each.ravel().tolist()) for each in values] == [{step * 1.5}] * 2
            agent.finish_step([], is_applied=False)
            started.set()
            step += 1

    started = threading.Event()

    def moved() -> None:
        started.wait()
        pool.aggregators[0].move(1, pool.table.on(0), pool.peer(2))

    agents = [NumpyAgent(pool.table, rank, 2) for rank in (0, 1)]
    with ThreadPoolExecutor(3) as threads:
        move = threads.submit(moved)
        for run in [threads.submit(work, agent) for agent in agents]:
            run.result(60)
        move.result(60)
    for agent in agents:
        agent.close()
    assert none_is_served(pool, 0)


def test_a_tensor_that_stays_for_another_step_delays_no_other_one(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both workers wait for the mean of the tensor that has departed before they end the step after
    which the other one departs."""
    are_held = threading.Event()
    monkeypatch.setattr(Tenant, "present", noting(Tenant.present, are_held))
    steps = TwoSteps(pool, replace(TRAINING, shapes=((4,), (2, 2))), early=0)
    ahead, behind = steps.agents
    ahead.finish_step([], is_applied=False)
    steps.push_early()
    steps.begin_move()
    are_held.wait()
    behind.finish_step([], is_applied=False)
    wait_until(lambda: list(pool.aggregators[0].tenant(1).tensors.slots) == [0])
    steps.end()
    assert none_is_served(pool, 0)


def test_a_gradient_that_comes_as_its_tensor_departs_is_not_lost(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step has ended and the tensor may leave, but it has not left yet."""
    is_held, is_leaving, goes_on = threading.Event(), threading.Event(), threading.Event()
    depart = Migration._depart

    def leaving(*arguments: Any) -> None:
        is_leaving.set()
        goes_on.wait(60)
        depart(*arguments)

    monkeypatch.setattr(Migration, "_depart", leaving)
    monkeypatch.setattr(Tenant, "present", noting(Tenant.present, is_held))
    steps = TwoSteps(pool, replace(TRAINING, shapes=((4,),)), early=0)
    ahead, behind = steps.agents
    ahead.finish_step([], is_applied=False)
    steps.begin_move()
    is_held.wait()
    behind.finish_step([], is_applied=False)
    is_leaving.wait(60)
    steps.push_early()
    goes_on.set()
    steps.end()
    assert none_is_served(pool, 0)


def test_a_large_model_moves_in_several_groups(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "GROUP_BYTES", 1 << 18)
    monkeypatch.setattr(migration, "BYTES_PER_S", 0)
    training = replace(TRAINING, shapes=((1 << 15,),) * 6, steps=6, workers=1)

    def move() -> None:
        pool.aggregators[0].move(1, pool.table.on(0), pool.peer(1))

    with ThreadPoolExecutor(1) as threads:
        moving = OnceInStep(threads, 1, move)
        (found,) = training.run(pool.table, moving)
        assert moving.future is not None
        moving.future.result(60)
    values, _ = training.with_torch()
    assert same(found[0], values)


def test_tensors_that_have_moved_already_are_left_out(pool: AggregatorPool) -> None:
    """pMaster repeats a request whose answer it did not get."""
    agent = NumpyAgent(pool.table, 0, 1)
    agent.initialise(TRAINING.specs, TRAINING.spec, TRAINING.initial())
    tensors = pool.table.on(0)
    for _ in range(2):
        pool.aggregators[0].move(1, tensors, pool.peer(1))
    with pytest.raises(NotFound):
        pool.aggregators[0].move(1, tensors, pool.peer(2))
    agent.close()


def test_a_replica_at_the_target_becomes_the_tensor(pool: AggregatorPool) -> None:
    """Nothing is copied: the memory is the replica's."""
    target = pool.aggregators[1]

    def move() -> None:
        pool.aggregators[0].replicate(1, pool.table.on(0), pool.peer(1))
        replicas.extend(target.tenant(1).replicas[n].value_array() for n in pool.table.on(0))
        pool.aggregators[0].move(1, pool.table.on(0), pool.peer(1))

    replicas: list[np.ndarray] = []
    with ThreadPoolExecutor(1) as threads:
        moving = OnceInStep(threads, 2, move)
        found = TRAINING.run(pool.table, moving)
        assert moving.future is not None
        moving.future.result(60)
    values, state = TRAINING.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)
    slots = target.tenant(1).tensors.slots
    served = [slots[n].value_array() for n in pool.table.on(0)]
    assert all(map(np.shares_memory, served, replicas))
