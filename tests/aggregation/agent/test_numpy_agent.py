"""Init, Push and Pull over real sockets, against torch.optim on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from aggregation_training import AggregatorPool, SmallTraining, pull_all, same, same_state
from motet.aggregation.agent.collected_requests import (
    ALONE_FROM_BYTES,
    PULL_BATCH_BYTES,
    PUSH_BATCH_BYTES,
)
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.tensor_bucket import BucketMemory
from motet.aggregation.wire.tensor_spec import OptimizerKind, OptimizerSpec, TensorSpec
from motet.domain.errors import BadInput, UnknownName
from received_requests import Received, received_requests, tensors_of
from soak_cases import others_in_soak

SGD = SmallTraining()
MOMENTUM = {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}
NESTEROV = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}
MANY = ((33,), (7, 3), (), (5,), (64, 64), (1,), (10,), (3, 3), (0, 2), (129,))
AMSGRAD = {"lr": 0.1, "betas": (0.8, 0.99), "amsgrad": True, "weight_decay": 0.02}


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(2) as pool:
        yield pool


@pytest.mark.parametrize(
    "training",
    [
        SGD,
        replace(SGD, options=MOMENTUM, skipped=frozenset({(1, 0), (4, 3), (5, 0)})),
        replace(SGD, options=NESTEROV, dtype="float64"),
        replace(SGD, options={"lr": 0.1}, workers=1),
        replace(SGD, dtype="bfloat16"),
        replace(SGD, shapes=((300, 400), (0, 3), (1 << 16,)), steps=3),
        replace(SGD, shapes=MANY, options=MOMENTUM, skipped=frozenset({(4, 3), (6, 0)})),
        replace(SGD, shapes=MANY, kind="adamw", options={"lr": 0.01}, dtype="float64"),
        replace(SGD, shapes=MANY[:8], in_bucket=True, skipped=frozenset({(4, 3), (6, 0)})),
        replace(SGD, shapes=MANY[:8], in_bucket=True, dtype="bfloat16"),
        replace(SGD, kind="adam", options=AMSGRAD),
        replace(SGD, kind="adamw", options={"lr": 0.01}, skipped=frozenset({(2, 2)})),
    ],
)
def test_two_workers_and_torch_optim_end_with_the_same_bits(
    pool: AggregatorPool, training: SmallTraining
) -> None:
    values, state = training.with_torch()
    for own_values, own_state in training.run(pool.table):
        assert same(own_values, values)
        assert same_state(own_state, state)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "options"),
    others_in_soak([("sgd", MOMENTUM), ("adamw", {"lr": 0.01})], [("adamw", {"lr": 0.01})]),
)
def test_500_steps_end_where_torch_optim_ends(
    pool: AggregatorPool, kind: OptimizerKind, options: dict[str, float]
) -> None:
    training = replace(SGD, shapes=((20,), (7, 3)), kind=kind, options=options, steps=500)
    values, state = training.with_torch()
    for own_values, own_state in training.run(pool.table):
        assert same(own_values, values)
        assert same_state(own_state, state)


def test_four_workers_are_added_up_in_the_order_of_ranks(pool: AggregatorPool) -> None:
    training = replace(SGD, workers=4, steps=3)
    values, _ = training.with_torch()
    assert all(same(own, values) for own, _ in training.run(pool.table))


@pytest.fixture
def received() -> Iterator[Received]:
    with received_requests() as found:
        yield found


def one_step(
    pool: AggregatorPool, training: SmallTraining, received: Received, *, in_arena: bool = False
) -> None:
    """Afterwards `received` has what a worker has sent in it. `in_arena`: its arrays are."""
    agent = NumpyAgent(pool.table, 0, 1)

    def placed(array: NDArray[Any]) -> NDArray[Any]:
        if not in_arena:
            return array
        own = agent.empty(array.shape, array.dtype)
        own[...] = array
        return own

    values = [placed(value) for value in training.initial()]
    agent.initialise(training.specs, training.spec, values)
    received.clear()
    for tensor in range(len(values)):
        agent.push(tensor, placed(training.gradient(values, 0, 1, tensor)))
    agent.finish_step([training.options_in(1)])
    pull_all(agent, values)
    agent.close()


def test_the_last_gradients_of_a_step_end_it(pool: AggregatorPool, received: Received) -> None:
    """Small tensors of an Aggregator take a message in a step."""
    one_step(pool, replace(SGD, shapes=((1 << 10,),) * 6, workers=1), received)
    assert sorted(kind for kind, _ in received) == ["PULL", "PULL", "PUSH", "PUSH"]


def test_what_an_aggregator_gets_of_a_bucket_is_one_piece_of_memory(
    pool: AggregatorPool, received: Received
) -> None:
    """Also after tensors have moved, as soon as the worker knows it."""
    training = replace(SGD, shapes=((1 << 10,),) * 6, workers=1, steps=3, in_bucket=True)
    agent = NumpyAgent(pool.table, 0, 1)
    values = training.initial()
    agent.initialise(training.specs, training.spec, values)
    numbers = tuple(range(6))

    def pieces() -> list[int]:
        bucket = agent.bucket(numbers)
        return [len(bucket.pieces(tensors)) for tensors in tensors_of(received, "PUSH")]

    for step in (1, 2, 3):
        received.clear()
        training.push_all(agent, values, step)
        agent.finish_step([training.options_in(step)])
        training.pull(agent, values)
        if step == 1:
            assert pieces() == [1, 1]
            pool.aggregators[0].move(1, [pool.table.on(0)[0]], pool.peer(1))
    assert pieces() == [1, 1]
    assert agent.bucket(numbers) is agent.bucket(numbers)
    assert sorted(map(len, tensors_of(received, "PUSH"))) == [2, 4]
    agent.close()


def test_buckets_that_are_more_than_a_message_travel_apart(received: Received) -> None:
    """The first one leaves while `backward` goes on, and each is one piece of memory."""
    training = replace(SGD, shapes=((20_000,),) * 16, workers=1)
    halves = [tuple(range(8)), tuple(range(8, 16))]
    with AggregatorPool(1) as pool:
        agent = NumpyAgent(pool.table, 0, 1)
        agent.initialise(training.specs, training.spec, training.initial())
        received.clear()
        memories = [
            BucketMemory(bucket, np.zeros(bucket.size, np.float32))
            for bucket in map(agent.bucket, halves)
        ]
        for memory in memories:
            agent.push_bucket(memory, memory.bucket.numbers)
        agent.finish_step([training.options_in(1)])
        for pending in [agent.pull_bucket(each, each.bucket.numbers) for each in memories]:
            pending.wait(30)
        agent.close()
    assert tensors_of(received, "PUSH") == halves
    assert tensors_of(received, "PULL") == halves


def test_single_tensors_of_a_bucket_and_whole_ones_mix_in_a_step(pool: AggregatorPool) -> None:
    """The last push of a tensor counts, as one or with others; means are those of all workers."""
    training = replace(SGD, shapes=((3,),) * 5, workers=1)
    agent = NumpyAgent(pool.table, 0, 1)
    agent.initialise(training.specs, training.spec, training.initial())
    bucket = agent.bucket(tuple(range(5)))
    first, second, means = (
        BucketMemory(bucket, np.full(bucket.size, value, np.float32)) for value in (1, 2, 0)
    )
    agent.push(1, np.full(3, 5, np.float32))
    agent.push_bucket(first, bucket.numbers)
    agent.push_bucket(second, (0, 2))
    agent.push(3, np.full(3, 7, np.float32))
    agent.bucket_means(means, (0, 1, 2, 3)).wait(30)
    agent.finish_step([{}], is_applied=False)
    assert [means.array_of(n)[0] for n in range(5)] == [2, 1, 2, 7, 0]
    agent.close()


def test_a_push_of_a_bucket_whose_means_were_asked_for_is_an_error(pool: AggregatorPool) -> None:
    training = replace(SGD, shapes=((3,),) * 5, workers=1)
    agent = NumpyAgent(pool.table, 0, 1)
    agent.initialise(training.specs, training.spec, training.initial())
    bucket = agent.bucket(tuple(range(5)))
    memory = BucketMemory(bucket, np.zeros(bucket.size, np.float32))
    agent.push_bucket(memory, bucket.numbers)
    agent.bucket_means(memory, (2, 3)).wait(30)
    with pytest.raises(BadInput, match="tensor 2: its mean of step 1 was asked for already"):
        agent.push_bucket(memory, bucket.numbers)
    agent.close()


@pytest.mark.parametrize(
    ("size_bytes", "in_arena", "is_alone"),
    [
        (ALONE_FROM_BYTES, True, True),
        (ALONE_FROM_BYTES - 4, True, False),
        (ALONE_FROM_BYTES, False, False),
        (PUSH_BATCH_BYTES, False, True),
    ],
)
def test_a_tensor_travels_alone_where_that_saves_a_copy(
    pool: AggregatorPool, received: Received, size_bytes: int, in_arena: bool, is_alone: bool
) -> None:
    """A message of several tensors has a payload that is a copy."""
    large = 1, 4
    shapes = tuple((size_bytes // 4,) if n in large else (10,) for n in range(6))
    one_step(pool, replace(SGD, shapes=shapes, workers=1), received, in_arena=in_arena)
    for kind in ("PUSH", "PULL"):
        found = tensors_of(received, kind)
        if is_alone:
            apart = [tensors for tensors in found if set(tensors).isdisjoint(large)]
            assert sorted(set(found) - set(apart)) == [(1,), (4,)]
            assert len(found) == 4  # The small ones of each Aggregator together.
        else:
            assert len(found) == 2  # All of each Aggregator together.


@pytest.mark.parametrize(
    ("keeps_order", "expected"),
    [(True, [(3,), (2,), (0, 1), (4,)]), (False, [(2,), (4,), (3, 0, 1)])],
)
def test_requests_for_small_values_leave_before_later_ones_for_large_ones(
    received: Received, keeps_order: bool, expected: list[tuple[int, ...]]
) -> None:
    """Where the program needs the values in an order; otherwise all small ones together."""
    sizes = [10, 10, PULL_BATCH_BYTES // 4, 10, PULL_BATCH_BYTES // 4]
    training = replace(SGD, shapes=tuple((size,) for size in sizes), workers=1)
    with AggregatorPool(1) as pool:
        agent = NumpyAgent(pool.table, 0, 1)
        values = training.initial()
        agent.initialise(training.specs, training.spec, values)
        received.clear()
        order = 3, 2, 0, 1, 4
        for pending in [agent.pull(n, values[n], keeps_order=keeps_order) for n in order]:
            pending.wait(60)
        agent.close()
    assert tensors_of(received, "PULL") == expected


def test_a_second_push_replaces_the_first(pool: AggregatorPool) -> None:
    agent = NumpyAgent(pool.table, 0, 1)
    values = [np.zeros(3, np.float32)]
    agent.initialise([TensorSpec("t", (3,))], OptimizerSpec("sgd", ({"lr": 1.0},)), values)
    agent.push(0, np.full(3, 5, np.float32))
    agent.push(0, np.full(3, 7, np.float32))
    assert agent.finish_step([{"lr": 1.0}]) == 1
    agent.pull(0, values[0]).wait(30)
    assert values[0].tolist() == [-7, -7, -7]
    agent.close()


def test_a_worker_that_comes_back_gets_the_version_that_counts(pool: AggregatorPool) -> None:
    replace(SGD, steps=5).run(pool.table)
    again = SGD.run(pool.table)
    values, state = SGD.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in again)


def test_workers_with_different_models_are_told_which_tensor_differs(pool: AggregatorPool) -> None:
    first, second = (NumpyAgent(pool.table, rank, 2) for rank in (0, 1))
    spec = OptimizerSpec("sgd", ({"lr": 0.1},))
    first.initialise([TensorSpec("weight", (2,))], spec, [np.zeros(2, np.float32)])
    with pytest.raises(BadInput, match=r"tensor 0 is .*\(3,\).* at another one .*\(2,\)"):
        second.initialise([TensorSpec("weight", (3,))], spec, [np.zeros(3, np.float32)])
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("kind", "options", "error", "text"),
    [
        ("sgd", {"learning_rate": 1}, UnknownName, "unknown option of sgd 'learning_rate'"),
        ("sgd", {"lr": -1}, BadInput, "lr is -1"),
        ("sgd", {"lr": 1, "nesterov": True}, BadInput, "nesterov needs a momentum"),
        ("adam", {"betas": (0.9, 1.0)}, BadInput, "betas"),
    ],
)
def test_options_that_torch_would_refuse_are_refused_at_the_start(
    pool: AggregatorPool, kind: str, options: dict[str, object], error: type[Exception], text: str
) -> None:
    agent = NumpyAgent(pool.table, 0, 1)
    with pytest.raises(error, match=text):
        agent.initialise(
            [TensorSpec("t", (1,))],
            OptimizerSpec(kind, (options,)),  # type: ignore[arg-type]
            [np.zeros(1, np.float32)],
        )
    agent.close()
