from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.lender_choice import lenders_to_ask, most_free

NAMES = st.lists(st.text("abc", min_size=1), unique=True, max_size=8)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(NAMES, st.integers(0, 8), st.integers(0, 99))
def test_two_are_asked_and_lenders_without_a_slab_of_the_device_first(
    names: list[str], cut: int, seed: int
) -> None:
    """The original asks one."""
    without, with_slabs = names[:cut], names[cut:]
    asked = lenders_to_ask(without, with_slabs, rng(seed))
    assert len(asked) == len(set(asked)) == min(2, len(names))
    assert len(set(asked) & set(without)) == min(2, len(without))


def test_every_pair_of_lenders_is_equally_likely() -> None:
    names, random = ["a", "b", "c", "d"], rng(7)
    pairs = [frozenset(lenders_to_ask(names, [], random)) for _ in range(6000)]
    counts = [pairs.count(pair) for pair in set(pairs)]
    assert len(counts) == 6
    assert max(counts) < 1.15 * 1000 < 1.3 * min(counts)


def test_the_lender_with_the_most_free_slabs_is_taken() -> None:
    assert most_free({"a": 3, "b": 5}) == "b"
    assert most_free({"a": 5, "b": 5}) == "a"
    assert most_free({"a": 0, "b": 0}) is None
    assert most_free({}) is None


def most_used(machines: int, slabs: int, asked: int) -> int:
    """Slabs on the fullest of equal machines, each slab of another device."""
    random, used = rng(3), [0] * machines
    for _ in range(slabs):
        choices = random.permutation(machines)[:asked].tolist()
        free = {str(machine): slabs - used[machine] for machine in choices}
        used[int(most_free(free) or choices[0])] += 1
    return max(used)


def test_two_choices_balance_the_machines_better_than_one() -> None:
    """Power of two choices: log log n instead of log n above the mean (Mitzenmacher 2001)."""
    mean = 5
    one, two = (most_used(200, 200 * mean, asked) for asked in (1, 2))
    assert two - mean <= 3 < one - mean
