"""Rebalancer: shares follow speeds that last, and never swing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.runtime.elastic.rebalancing import (
    FEWEST_ROUNDS,
    ROUND_BATCHES,
    MeasuredRound,
    Rebalancer,
    proportional_shares,
    saved_part,
)

PER_BLOCK = 10
EVEN = {0: 24, 1: 24, 2: 24, 3: 24}


def one_round(
    rebalancer: Rebalancer,
    held: dict[int, int],
    instance_s: dict[int, float],
    noise: random.Random | None = None,
    amplitude: float = 0.0,
) -> dict[int, int] | None:
    for _ in range(ROUND_BATCHES):
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
    rounds: int,
    noise: random.Random | None = None,
    amplitude: float = 0.0,
) -> tuple[dict[int, int], int]:
    """The shares after some rounds, and the number of changes."""
    changes = 0
    for _ in range(rounds):
        wanted = one_round(rebalancer, held, instance_s, noise, amplitude)
        if wanted is not None and wanted != held:
            held, changes = wanted, changes + 1
            rebalancer.restart()
    return held, changes


def test_a_worker_four_times_slower_gets_a_quarter_of_the_others_share() -> None:
    slow = {0: 4e-4, 1: 1e-4, 2: 1e-4, 3: 1e-4}
    held, changes = settle(Rebalancer(), EVEN, slow, rounds=10)
    assert held == {0: 7, 1: 30, 2: 30, 3: 29}
    assert changes == 1


def test_a_recovered_worker_gets_its_share_back() -> None:
    rebalancer = Rebalancer()
    held, _ = settle(rebalancer, EVEN, {0: 4e-4, 1: 1e-4, 2: 1e-4, 3: 1e-4}, rounds=6)
    held, changes = settle(rebalancer, held, dict.fromkeys(EVEN, 1e-4), rounds=20)
    assert held == EVEN
    assert changes == 1


def test_one_slow_round_moves_nothing() -> None:
    rebalancer = Rebalancer()
    even = dict.fromkeys(EVEN, 1e-4)
    assert one_round(rebalancer, EVEN, even | {0: 4e-4}) is None
    assert one_round(rebalancer, EVEN, even) is None
    assert one_round(rebalancer, EVEN, even | {0: 4e-4}) is None


def test_speeds_do_not_matter_where_communication_takes_the_time() -> None:
    rebalancer = Rebalancer()
    tiny = {0: 4e-7, 1: 1e-7, 2: 1e-7, 3: 1e-7}
    assert settle(rebalancer, EVEN, tiny, rounds=6) == (EVEN, 0)


def test_a_worker_that_has_computed_nothing_yet_is_waited_for() -> None:
    rebalancer = Rebalancer()
    for _ in range(2 * ROUND_BATCHES):
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
    found = proportional_shares(dict(enumerate(instance_s)), blocks)
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
    even = proportional_shares(dict.fromkeys(speeds, 1.0), 96)
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
        wanted = one_round(rebalancer, held, speeds)
        if wanted is not None and wanted != held:
            held, changes = wanted, changes + 1
            rebalancer.restart()
    assert changes <= 12


def test_one_mini_batch_with_a_long_exchange_does_not_hide_a_slow_worker() -> None:
    rebalancer = Rebalancer()
    for _ in range(FEWEST_ROUNDS):
        for batch in range(ROUND_BATCHES):
            for worker, instance_s in enumerate((4e-4, 1e-4)):
                comm_s = 100.0 if batch == 0 else 0.001
                rebalancer.observe(worker, instance_s * 100, comm_s, 100)
        wanted = rebalancer.decide({0: 10, 1: 10})
    assert wanted == {0: 4, 1: 16}


def test_the_saved_part_compares_the_slowest_workers() -> None:
    measured = MeasuredRound({0: 4e-3, 1: 1e-3}, comm_s=0.1, instances=100)
    # Ten blocks of ten instances: 0.2 s of COMP for the slow worker, then 0.08 s for both.
    assert saved_part({0: 5, 1: 5}, {0: 2, 1: 8}, measured) == pytest.approx(1 - 0.18 / 0.3)
    assert saved_part({0: 5, 1: 5}, {0: 5, 1: 5}, measured) == 0


def test_free_mini_batches_cannot_be_shortened() -> None:
    free = MeasuredRound({0: 0.0, 1: 0.0}, comm_s=0.0, instances=100)
    assert saved_part({0: 5, 1: 5}, {0: 1, 1: 9}, free) == 0


def test_a_restart_drops_measurements_and_rounds() -> None:
    rebalancer = Rebalancer()
    slow = {0: 4e-4, 1: 1e-4, 2: 1e-4, 3: 1e-4}
    for _ in range(4):
        assert one_round(rebalancer, EVEN, slow) is None
        rebalancer.restart()
