"""A simulated cluster of lenders and devices: rules that hold, and hand-made loads."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.arrays import Ints
from motet.sim.remote_memory.containers import GIB, LoadAssumptions, MachineLoad, drawn_load
from motet.sim.remote_memory.replay import LendingHistory, LendingRules, replayed_lending
from motet.sim.remote_memory.strategies import STRATEGIES
from motet.sim.remote_memory.summary import summarise_lending

RULES = LendingRules(GIB, 8 * GIB)
BEST = STRATEGIES[0]


def load_of(own: list[list[int]], paged: list[list[int]]) -> MachineLoad:
    """In GiB, by second and machine."""
    return MachineLoad(64 * GIB, GIB * np.array(own, np.int64), GIB * np.array(paged, np.int64))


def steady(own: list[int], paged: list[int], steps: int) -> MachineLoad:
    return load_of([own] * steps, [paged] * steps)


@pytest.fixture(scope="module")
def histories() -> list[LendingHistory]:
    load = drawn_load(LoadAssumptions(machines=60, steps=150, lasts_s=100, grows_s=20), 0)
    return [replayed_lending(load, RULES, strategy, 0) for strategy in STRATEGIES]


def test_hot_slabs_of_a_full_machine_are_spread_over_idle_ones() -> None:
    history = replayed_lending(steady([60, 10, 10, 10, 10], [8, 0, 0, 0, 0], 60), RULES, BEST, 0)
    lent: Ints = history.lent_slabs[-1]
    assert lent[0] == 0
    assert lent.sum() == history.remote_slabs[-1].sum() > 4
    assert lent[1:].max() - lent[1:].min() <= 1


def test_no_lender_takes_its_own_machines_slabs() -> None:
    history = replayed_lending(steady([10, 63, 63], [6, 0, 0], 40), RULES, BEST, 0)
    assert history.lent_slabs.sum() == 0
    assert history.refused > 0


def test_a_lender_whose_own_use_grows_gives_all_memory_back() -> None:
    steps = [[60, 10, 62]] * 40 + [[60, 60, 10]] * 60
    history = replayed_lending(load_of(steps, [[9, 0, 0]] * 100), RULES, BEST, 0)
    assert history.lent_slabs[39].tolist()[1] >= 4
    assert history.lent_slabs[-1].tolist()[1] == 0
    assert len(history.evicted_rates) >= 4
    assert history.lent_slabs[-1].tolist()[2] >= 4


def test_own_memory_and_lent_slabs_fit_where_own_use_does_not_grow() -> None:
    history = replayed_lending(steady([62, 62, 20, 30], [40, 40, 0, 0], 60), RULES, BEST, 0)
    assert (history.used_bytes[:, 2:] <= (64 - 8) * GIB).all()
    assert history.used_bytes[-1, 2:].min() > (64 - 10) * GIB


def test_slabs_are_conserved(histories: list[LendingHistory]) -> None:
    for history in histories:
        left = history.placed - len(history.evicted_rates)
        assert history.lent_slabs[-1].sum() == left
        assert (history.remote_slabs <= history.used_slabs).all()
        assert (history.remote_slabs.sum(axis=1) <= history.lent_slabs.sum(axis=1)).all()


def test_lending_evens_memory_use_out(histories: list[LendingHistory]) -> None:
    own = histories[0].load.own_bytes[75:]
    without = float((own.max(axis=1) / np.median(own, axis=1)).mean())
    for history in histories:
        found = summarise_lending(history)
        assert found.balance.max_median < without
        assert found.remote > 0.5


def test_batch_eviction_takes_less_active_slabs_than_eviction_at_random(
    histories: list[LendingHistory],
) -> None:
    batch, random = summarise_lending(histories[0]), summarise_lending(histories[1])
    assert batch.evictions > 20
    assert batch.busy_evictions / batch.evictions < random.busy_evictions / random.evictions
    assert batch.mean_evicted_rate < random.mean_evicted_rate


def test_the_same_seed_gives_the_same_history(histories: list[LendingHistory]) -> None:
    again = replayed_lending(histories[0].load, RULES, BEST, 0)
    assert np.array_equal(again.lent_slabs, histories[0].lent_slabs)
    assert again.evicted_rates == histories[0].evicted_rates
