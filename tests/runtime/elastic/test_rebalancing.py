"""Rebalancer: shares follow speeds that last, and never swing."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.runtime.elastic.rebalancing import LOOK_BATCHES, Rebalancer, shares

PER_BLOCK = 10
EVEN = {0: 24, 1: 24, 2: 24, 3: 24}


def one_look(
    rebalancer: Rebalancer,
    held: dict[int, int],
    instance_s: dict[int, float],
    noise: random.Random | None = None,
    amplitude: float = 0.0,
) -> dict[int, int] | None:
    for _ in range(LOOK_BATCHES):
        for worker, count in held.items():
            instances = count * PER_BLOCK
            each_s = instance_s[worker]
            if noise is not None:
                each_s *= 1 + noise.uniform(-amplitude, amplitude)
            rebalancer.observe(worker, each_s * instances, 0.01, instances)
    return rebalancer.decide(held)


def settle(
    rebalancer: Rebalancer,
    held: dict[int, int],
    instance_s: dict[int, float],
    looks: int,
    noise: random.Random | None = None,
    amplitude: float = 0.0,
) -> tuple[dict[int, int], int]:
    """The shares after some looks, and how often they changed."""
    changes = 0
    for _ in range(looks):
        wanted = one_look(rebalancer, held, instance_s, noise, amplitude)
        if wanted is not None and wanted != held:
            held, changes = wanted, changes + 1
            rebalancer.restart()
    return held, changes


def test_a_worker_four_times_slower_gets_a_quarter_of_the_others_share() -> None:
    slow = {0: 4e-4, 1: 1e-4, 2: 1e-4, 3: 1e-4}
    held, changes = settle(Rebalancer(), EVEN, slow, looks=10)
    assert held == {0: 7, 1: 30, 2: 30, 3: 29}
    assert changes == 1


def test_who_recovers_gets_its_share_back() -> None:
    rebalancer = Rebalancer()
    held, _ = settle(rebalancer, EVEN, {0: 4e-4, 1: 1e-4, 2: 1e-4, 3: 1e-4}, looks=6)
    held, changes = settle(rebalancer, held, dict.fromkeys(EVEN, 1e-4), looks=20)
    assert held == EVEN
    assert changes == 1


def test_one_bad_look_moves_nothing() -> None:
    rebalancer = Rebalancer()
    even = dict.fromkeys(EVEN, 1e-4)
    assert one_look(rebalancer, EVEN, even | {0: 4e-4}) is None
    assert one_look(rebalancer, EVEN, even) is None
    assert one_look(rebalancer, EVEN, even | {0: 4e-4}) is None


def test_speeds_do_not_matter_where_communication_takes_the_time() -> None:
    rebalancer = Rebalancer()
    tiny = {0: 4e-7, 1: 1e-7, 2: 1e-7, 3: 1e-7}
    assert settle(rebalancer, EVEN, tiny, looks=6) == (EVEN, 0)


def test_a_worker_that_has_computed_nothing_yet_is_waited_for() -> None:
    rebalancer = Rebalancer()
    for _ in range(2 * LOOK_BATCHES):
        rebalancer.observe(0, 1.0, 0.0, 10)
        rebalancer.observe(1, 0.0, 0.0, 0)
    assert rebalancer.decide({0: 3, 1: 3}) is None


@given(
    instance_s=st.lists(st.floats(1e-6, 1e-2), min_size=1, max_size=20),
    blocks=st.integers(20, 200),
)
def test_shares_use_every_block_and_leave_nobody_without(
    instance_s: list[float], blocks: int
) -> None:
    found = shares(dict(enumerate(instance_s)), blocks)
    assert sum(found.values()) == blocks
    assert min(found.values()) >= 1


@settings(max_examples=examples(60))
@given(
    instance_s=st.lists(st.floats(1e-4, 6e-4), min_size=2, max_size=8),
    seed=st.integers(0, 10**6),
    amplitude=st.floats(0, 0.05),
)
def test_steady_speeds_with_noise_change_shares_at_most_twice(
    instance_s: list[float], seed: int, amplitude: float
) -> None:
    noise = random.Random(seed)
    speeds = dict(enumerate(instance_s))
    even = shares(dict.fromkeys(speeds, 1.0), 96)
    _, changes = settle(Rebalancer(), even, speeds, 30, noise, amplitude)
    assert changes <= 2


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 10**6))
def test_a_host_that_looks_fast_with_little_to_do_does_not_swing_for_long(seed: int) -> None:
    """With few blocks it is as fast as the others, with many four times slower."""
    draw = random.Random(seed)
    rebalancer, held, changes = Rebalancer(), dict(EVEN), 0
    for _ in range(400):
        slow_s = 4e-4 if held[0] > 12 else 1e-4 * draw.uniform(0.9, 1.1)
        speeds = dict.fromkeys(EVEN, 1e-4) | {0: slow_s}
        wanted = one_look(rebalancer, held, speeds)
        if wanted is not None and wanted != held:
            held, changes = wanted, changes + 1
            rebalancer.restart()
    assert changes <= 12
