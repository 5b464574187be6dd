"""An Aggregator dies while workers train: its replica goes on, the curve is the same to the bit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from aggregation_training import AggregatorPool, SmallTraining, Values, same, same_state
from link_to_cut import LinkToCut
from motet.aggregation.agent.gradient_service import Pending
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.aggregator.peer_handlers import PEER_HANDLERS
from motet.aggregation.aggregator.peers import PeerConnections
from motet.aggregation.aggregator.replication import QUIET_WITHIN_S, REST, Replication
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.job_tensors import JobTensors
from motet.aggregation.tensors.joint_steps import JointWork
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.aggregation.wire.peer_requests import ApplyStep, CopyTensors
from motet.domain.errors import JobFailed, MotetError, NotFound
from motet.transport import Request
from waiting import wait_until

TRAINING = SmallTraining(steps=12, kind="adamw", options={"lr": 0.1})
EVERY = range(len(TRAINING.shapes))
OF_SMALL_TENSORS = replace(TRAINING, shapes=tuple((size,) for size in range(1, 13)))
"""Six at each of two Aggregators."""


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(2) as pool:
        yield pool


class DeathInStep:
    """Replicates before one step; in a later one an Aggregator dies, and the other takes over."""

    def __init__(self, pool: AggregatorPool, step: int, victim: int) -> None:
        self._pool, self._step, self._victim = pool, step, victim

    def __call__(self, rank: int, step: int) -> None:
        if rank != 0:
            return
        pool = self._pool
        if step == 2:
            for number, aggregator in enumerate(pool.aggregators):
                aggregator.replicate(1, pool.table.on(number), pool.peer(1 - number))
        if step == self._step:
            survivor = 1 - self._victim
            tensors = pool.table.on(self._victim)
            pool.aggregators[self._victim].close()
            pool.aggregators[survivor].promote(1, tensors)
            pool.aggregators[survivor].forget_replicas(1, pool.peer(self._victim))
            pool.table.move(tensors, survivor)


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("step", [3, 8])
def test_no_step_is_lost_and_none_is_applied_twice(
    pool: AggregatorPool, victim: int, step: int
) -> None:
    found = TRAINING.run(pool.table, DeathInStep(pool, step, victim))
    values, state = TRAINING.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


@pytest.mark.parametrize("victim", [0, 1])
def test_joint_steps_are_replicated_and_none_is_lost_or_applied_twice(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, victim: int
) -> None:
    joint_steps: Counter[int] = Counter()
    complete = JobTensors.completed_together

    def noted(self: JobTensors, work: JointWork) -> Effects:
        joint_steps[work.step] += self.is_joint(work)
        return complete(self, work)

    monkeypatch.setattr(JobTensors, "completed_together", noted)
    found = OF_SMALL_TENSORS.run(pool.table, DeathInStep(pool, 8, victim))
    values, state = OF_SMALL_TENSORS.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)
    assert [joint_steps[step] for step in range(4, 8)] == [2] * 4  # At each Aggregator.


def lost_replicas(pool: AggregatorPool) -> tuple[str, ...]:
    """The peers that Aggregator 0 waits for."""
    return pool.aggregators[0].measurements()[0].lost_replicas


def test_training_goes_on_without_its_replica_once_nobody_will_promote_it(
    pool: AggregatorPool,
) -> None:
    pool.table.routes(TRAINING.specs)
    pool.table.move(EVERY, 0)

    def allow() -> None:
        wait_until(lambda: lost_replicas(pool) == (pool.peer(1),))
        pool.aggregators[0].forget_replicas(1, pool.peer(1))

    with ThreadPoolExecutor(1) as threads:
        allowed: list[Future[None]] = []

        def on_step(rank: int, step: int) -> None:
            if rank == 0 and step == 2:
                pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
            if rank == 0 and step == 5:
                pool.aggregators[1].close()
                allowed.append(threads.submit(allow))

        found = TRAINING.run(pool.table, on_step)
        allowed[0].result(60)
    values, _ = TRAINING.with_torch()
    assert all(same(own, values) for own, _ in found)
    assert lost_replicas(pool) == ()


def test_a_step_that_the_replica_lacks_is_not_answered(pool: AggregatorPool) -> None:
    agent, values = one_worker(pool)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    pool.aggregators[1].close()
    end_step(agent)
    pull = agent.pull(0, values[0])
    wait_until(lambda: lost_replicas(pool) == (pool.peer(1),))
    with pytest.raises(TimeoutError):
        pull.wait(0.1)
    pool.aggregators[0].forget_replicas(1, pool.peer(1))
    pull.wait(60)
    agent.close()


def test_a_joint_copy_that_the_replica_lacks_is_not_answered(pool: AggregatorPool) -> None:
    agent, values = one_worker(pool)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    pool.aggregators[1].close()
    with ThreadPoolExecutor(1) as threads:
        load = threads.submit(agent.load, values, [{} for _ in values])
        wait_until(lambda: lost_replicas(pool) == (pool.peer(1),))
        assert not load.done()
        pool.aggregators[0].forget_replicas(1, pool.peer(1))
        load.result(60)
    agent.close()


def test_an_aggregator_whose_replica_was_promoted_commits_nothing(pool: AggregatorPool) -> None:
    """It was taken for dead, but lives: stopped for a while, or behind a partition."""
    agent, values = one_worker(pool)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    pool.aggregators[1].promote(1, EVERY)
    end_step(agent)
    pull = agent.pull(0, values[0])
    wait_until(lambda: lost_replicas(pool) == (pool.peer(1),))
    with pytest.raises(TimeoutError):
        pull.wait(0.1)
    pool.table.move(EVERY, 1)
    other = NumpyAgent(pool.table, 0, 1)
    seen = [np.empty_like(each) for each in values]
    assert other.initialise(TRAINING.specs, TRAINING.spec, seen) == 0, "no step has ended"
    other.close()
    agent.close()


def test_a_replica_that_is_copied_during_a_step_has_its_means(pool: AggregatorPool) -> None:
    """The Aggregator dies when one worker has the means and goes on: it does not send its gradients
    of the step again. The other one asks the replica."""
    training = replace(TRAINING, shapes=((4,), (40, 50)))
    values, tensors = training.initial(), (0, 1)
    pool.table.routes(training.specs)
    pool.table.move(tensors, 0)

    def entered(rank: int) -> NumpyAgent:
        agent = NumpyAgent(pool.table, rank, 2)
        agent.initialise(training.specs, training.spec, values)
        return agent

    def ask(agent: NumpyAgent, into: Values) -> list[Pending]:
        for tensor, value in enumerate(values):
            agent.push(tensor, np.full_like(value, agent.rank + 1))
        found = [agent.mean(tensor, each) for tensor, each in enumerate(into)]
        agent.flush()
        return found

    ahead, behind = entered(0), entered(1)
    for agent in (behind, ahead):
        pending = ask(agent, [np.empty_like(each) for each in values])
    for each in pending:
        each.wait(60)
    pool.aggregators[0].replicate(1, tensors, pool.peer(1))
    pool.aggregators[0].close()
    pool.aggregators[1].promote(1, tensors)
    pool.table.move(tensors, 1)
    behind.close()  # It has not read its answer.
    behind = entered(1)
    means = [np.zeros_like(each) for each in values]
    for each in ask(behind, means):
        each.wait(60)
    assert same(means, [np.full_like(each, 1.5) for each in values])
    for agent in (behind, ahead):
        agent.close()


def test_a_partition_from_the_replica_leaves_no_trace_in_the_curve(pool: AggregatorPool) -> None:
    """The replica is promoted while its Aggregator still gets all gradients."""
    pool.table.routes(TRAINING.specs)
    pool.table.move(EVERY, 0)
    with LinkToCut(pool.aggregators[1].endpoint) as link, ThreadPoolExecutor(1) as threads:
        replaced: list[Future[None]] = []

        def replace_it() -> None:
            wait_until(lambda: lost_replicas(pool) == (link.endpoint.encode(),))
            pool.aggregators[1].promote(1, EVERY)
            pool.table.move(EVERY, 1)
            pool.aggregators[0].close()

        def on_step(rank: int, step: int) -> None:
            if rank == 0 and step == 2:
                pool.aggregators[0].replicate(1, EVERY, link.endpoint.encode())
            if rank == 0 and step == 6:
                link.cut()
                replaced.append(threads.submit(replace_it))

        found = TRAINING.run(pool.table, on_step)
        replaced[0].result(60)
    values, state = TRAINING.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


def one_worker(pool: AggregatorPool) -> tuple[NumpyAgent, Values]:
    """A worker whose tensors are all on Aggregator 0."""
    pool.table.routes(TRAINING.specs)
    pool.table.move(EVERY, 0)
    agent = NumpyAgent(pool.table, 0, 1)
    values = TRAINING.initial()
    agent.initialise(TRAINING.specs, TRAINING.spec, values)
    return agent, values


def end_step(agent: NumpyAgent) -> None:
    for number, value in enumerate(TRAINING.initial()):
        agent.push(number, np.ones_like(value))
    agent.finish_step([TRAINING.options])


def test_a_tensor_without_values_gets_no_replica_yet(pool: AggregatorPool) -> None:
    """The values might come just after an empty copy."""
    pool.table.routes(TRAINING.specs)
    pool.table.move(EVERY, 0)
    first, second = (NumpyAgent(pool.table, rank, 2) for rank in range(2))
    with ThreadPoolExecutor(1) as threads:
        values = TRAINING.initial()
        begun = threads.submit(second.initialise, TRAINING.specs, TRAINING.spec, values)
        wait_until(lambda: is_registered(pool))
        with pytest.raises(NotFound, match="tensor 0 of job 1 has no values yet"):
            pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
        first.initialise(TRAINING.specs, TRAINING.spec, TRAINING.initial())
        begun.result(60)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    for agent in (first, second):
        agent.close()


def is_registered(pool: AggregatorPool) -> bool:
    try:
        pool.aggregators[0].replicate(1, [0], pool.peer(1))
    except NotFound as error:
        return "has no values" in str(error)
    return True


def test_replicas_count_as_memory_and_for_the_quota(pool: AggregatorPool) -> None:
    agent, _ = one_worker(pool)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    own, replicas = (each.measurements()[0].memory_bytes for each in pool.aggregators)
    assert own == replicas > 0
    pool.aggregators[1].open_job(JobAccess(1, "job 1", pool.secret, own - 1))
    with pytest.raises(JobFailed, match="its quota is"):
        pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    agent.close()


def test_a_replica_at_the_target_counts_once_for_the_quota(pool: AggregatorPool) -> None:
    agent, _ = one_worker(pool)
    end_step(agent)
    agent.pull(0, np.empty((3, 4), np.float32)).wait(60)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    needed = pool.aggregators[1].measurements()[0].memory_bytes
    assert needed >= 3 * sum(each.nbytes for each in TRAINING.initial())
    quota = 3 * sum(each.nbytes for each in TRAINING.initial())
    pool.aggregators[1].open_job(JobAccess(1, "job 1", pool.secret, quota))
    pool.aggregators[0].move(1, EVERY, pool.peer(1))
    agent.close()


def test_tensors_that_the_target_has_no_room_for_stay(pool: AggregatorPool) -> None:
    agent, values = one_worker(pool)
    pool.aggregators[1].open_job(JobAccess(1, "job 1", pool.secret, 100))
    with pytest.raises(JobFailed, match="its quota is 100"):
        pool.aggregators[0].move(1, EVERY, pool.peer(1))
    assert not pool.aggregators[1].tenant(1).tensors.slots
    end_step(agent)
    agent.pull(0, values[0]).wait(60)
    agent.close()


def test_a_replica_is_promoted_after_the_step_that_it_is_in(pool: AggregatorPool) -> None:
    agent, _ = one_worker(pool)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    tenant = pool.aggregators[1].tenant(1)
    replicas = tenant.follow(EVERY)
    with ThreadPoolExecutor(1) as threads:
        promoted = threads.submit(pool.aggregators[1].promote, 1, EVERY)
        with pytest.raises(TimeoutError):
            promoted.result(0.1)
        assert not tenant.tensors.slots
        tenant.followed(replicas, is_complete=True)
        promoted.result(60)
    assert tenant.tensors.slots == replicas
    agent.close()


def test_a_step_that_fails_halfway_leaves_no_replica(pool: AggregatorPool) -> None:
    """It may have done a part of the step."""
    agent, _ = one_worker(pool)
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    peers = PeerConnections(pool.pool_secret)
    too_short = ApplyStep(1, (0, 1), 1, True, (True, True), True, True, "[{}]", (0, 0))
    with pytest.raises(MotetError):
        peers.ask(pool.peer(1), too_short, [np.zeros((3, 4), np.float32)])
    peers.close()
    for tensor in (0, 1):
        with pytest.raises(NotFound, match=f"tensor {tensor} of job 1 has no replica here"):
            pool.aggregators[1].promote(1, [tensor])
    pool.aggregators[1].promote(1, [2])
    agent.close()


def test_a_tensor_without_a_replica_cannot_be_promoted(pool: AggregatorPool) -> None:
    with pytest.raises(NotFound, match="tensor 0 of job 1 has no replica here"):
        pool.aggregators[0].promote(1, [0])


def test_a_moved_tensor_keeps_its_replica() -> None:
    """From Aggregator 0 to 2; then 2 dies, and the replica at 1 goes on."""
    with AggregatorPool(3) as pool, ThreadPoolExecutor(1) as threads:
        pool.table.routes(TRAINING.specs)
        pool.table.move(EVERY, 0)
        moves: list[Future[None]] = []

        killed = threading.Event()

        def on_step(rank: int, step: int) -> None:
            if rank == 0 and step == 2:
                pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
                moves.append(threads.submit(pool.aggregators[0].move, 1, EVERY, pool.peer(2)))
            if rank == 1 and step == 7:
                killed.wait()  # Between two steps, so that every tensor can depart.
            if rank == 0 and step == 7:
                moves[0].result(60)
                for dead in (0, 2):
                    pool.aggregators[dead].close()
                pool.aggregators[1].promote(1, EVERY)
                pool.table.move(EVERY, 1)
                killed.set()

        found = TRAINING.run(pool.table, on_step)
        values, state = TRAINING.with_torch()
        assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


def test_the_last_joint_copy_survives(pool: AggregatorPool) -> None:
    training = replace(TRAINING, workers=1, steps=1)
    agent = NumpyAgent(pool.table, 0, 1)
    values = training.initial()
    agent.initialise(training.specs, training.spec, values)
    victim = pool.table.table.aggregator_of[0] if pool.table.table else 0
    tensors = pool.table.on(victim)
    pool.aggregators[victim].replicate(1, tensors, pool.peer(1 - victim))
    agent.broadcast([np.arange(3)])
    pool.aggregators[victim].close()
    pool.aggregators[1 - victim].promote(1, tensors)
    pool.table.move(tensors, 1 - victim)
    agent.broadcast([np.arange(4)])
    agent.close()


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_step_begins_before_its_first_replica_has_arrived(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    agent, values = one_worker(pool)
    passed_on = threading.Event()
    send, copy = PeerConnections.send, PEER_HANDLERS[CopyTensors.kind]

    def noted(peers: PeerConnections, peer: str, message: Any, *others: Any) -> None:
        send(peers, peer, message, *others)
        if isinstance(message, ApplyStep):
            passed_on.set()

    def delayed(services: Any, tenant: Tenant, message: CopyTensors, request: Request) -> None:
        assert passed_on.wait(60)
        if is_refused:
            raise JobFailed("no room")
        copy.carry_out(services, tenant, message, request)

    monkeypatch.setattr(PeerConnections, "send", noted)
    handlers = {CopyTensors.kind: replace(copy, carry_out=delayed)}
    tenants = [each.tenant(1) for each in pool.aggregators]
    with (
        mock.patch.dict(PEER_HANDLERS, handlers),  # type: ignore[arg-type]
        ThreadPoolExecutor(1) as threads,
    ):
        copied = threads.submit(pool.aggregators[0].replicate, 1, EVERY, pool.peer(1))
        wait_until(lambda: len(tenants[0].replica_at) == len(EVERY))
        end_step(agent)
        agent.pull(0, values[0]).wait(60)
        if is_refused:
            with pytest.raises(JobFailed, match="no room"):
                copied.result(60)
        else:
            copied.result(60)
    versions = {slot.version for slot in tenants[1].replicas.values()}
    assert versions == (set() if is_refused else {1})
    assert (tenants[0].replica_at == {}) == is_refused
    assert lost_replicas(pool) == ()
    agent.close()


@pytest.mark.parametrize(("taken_s", "expected_s"), [(0.004, 0.004 * REST), (5.0, QUIET_WITHIN_S)])
def test_a_job_that_is_never_quiet_is_copied_at_the_rate_of_the_link(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, taken_s: float, expected_s: float
) -> None:
    agent, _ = one_worker(pool)
    patience_s: list[float] = []
    monkeypatch.setattr("motet.aggregation.aggregator.replication.COPY_BYTES", 1)
    monkeypatch.setattr(Replication, "_copy", lambda *_: taken_s)
    monkeypatch.setattr(Replication, "await_quiet", lambda *given: patience_s.append(given[2]))
    pool.aggregators[0].replicate(1, EVERY, pool.peer(1))
    assert patience_s == [QUIET_WITHIN_S, *[expected_s] * (len(EVERY) - 1)]
    agent.close()
