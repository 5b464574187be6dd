"""Drawn memory use of machines: shares, growth, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.sim.remote_memory.containers import GIB, LoadAssumptions, drawn_load

ASSUMED = LoadAssumptions(machines=300, steps=80, grows_s=20, lasts_s=10_000)


def test_the_shapes_page_out_a_fifth_of_what_they_keep() -> None:
    """50/30/20 % at 100/75/50 %: 0.3 x 0.25 + 0.2 x 0.5 of 1 is out, the other 0.825 stay."""
    load = drawn_load(ASSUMED, 0)
    own = (load.own_bytes[-1] - ASSUMED.base_bytes).sum()
    assert load.paged_bytes[-1].sum() / own == pytest.approx(0.175 / 0.825, rel=0.1)


def test_use_grows_until_all_containers_have_their_working_set() -> None:
    load = drawn_load(ASSUMED, 1)
    total = (load.own_bytes + load.paged_bytes).sum(axis=1)
    assert (np.diff(total[:20]) > 0).all()
    mean = ASSUMED.containers_per_machine * ASSUMED.working_set_bytes + ASSUMED.base_bytes
    assert total[20] / ASSUMED.machines == pytest.approx(mean, rel=0.05)


def test_a_container_that_ends_is_replaced_elsewhere() -> None:
    """The load of a machine changes, that of the cluster stays."""
    load = drawn_load(replace(ASSUMED, steps=200, lasts_s=60, grows_s=1), 2)
    total = load.own_bytes.sum(axis=1)
    assert total[100] == pytest.approx(total[199], rel=0.1)
    assert np.mean(load.own_bytes[100] != load.own_bytes[199]) > 0.9


def test_machines_have_the_memory_that_their_containers_use() -> None:
    crowded = replace(ASSUMED, containers_per_machine=4.0)
    assert (drawn_load(crowded, 3).own_bytes <= crowded.memory_bytes).mean() > 0.99


def test_the_same_seed_draws_the_same_load() -> None:
    first, second, other = (drawn_load(ASSUMED, seed) for seed in (4, 4, 5))
    assert np.array_equal(first.own_bytes, second.own_bytes)
    assert not np.array_equal(first.own_bytes, other.own_bytes)


def test_a_working_set_that_no_machine_holds_is_refused() -> None:
    with pytest.raises(BadInput, match="no room for a container with 15 GiB"):
        LoadAssumptions(memory_bytes=16 * GIB)
