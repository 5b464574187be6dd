"""What an experiment's jobs leave behind, from what is remembered of it and who is still there."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.auction.legacy import MEMORY, legacies, remembered

DUE_US = 600_000_000
held_jobs = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 16), st.integers(1, DUE_US), st.booleans()),
    min_size=1,
    max_size=12,
)


def column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@given(held_jobs)
def test_legacies_preserve_gpus_and_gpu_time(
    jobs: list[tuple[int, int, int, bool]],
) -> None:
    """An experiment is known as long as one of its jobs is there."""
    of, gpus, lease_us = (column([job[place] for job in jobs]) for place in range(3))
    memory = remembered(of, gpus, lease_us, DUE_US)
    stays = np.array([job[3] for job in jobs])
    _, present = np.unique(of[stays], return_inverse=True)
    kept = {name: values[stays] for name, values in memory.items()}
    found, until_us = legacies(present, lease_us[stays], kept, DUE_US)
    for each, experiment in enumerate(np.unique(of[stays]).tolist()):
        ended = (of == experiment) & ~stays
        assert found[each] == gpus[ended].sum()
        if found[each]:
            expected = np.average(lease_us[ended], weights=gpus[ended])
            assert 0 <= until_us[each] - expected < 1


def test_a_new_job_of_an_experiment_hides_nothing() -> None:
    memory = remembered(column([0, 0]), column([2, 4]), column([DUE_US, 300]), DUE_US)
    known = {name: column([values[0], MEMORY[name]]) for name, values in memory.items()}
    gpus, until_us = legacies(column([0, 0]), column([DUE_US, 0]), known, DUE_US)
    assert gpus.tolist() == [4]
    assert until_us.tolist() == [300]


def test_a_refused_grant_is_no_legacy() -> None:
    """Of two that were granted two GPUs each one found no memory beside them and still waits."""
    memory = remembered(column([0, 0]), column([2, 2]), column([DUE_US, DUE_US]), DUE_US)
    gpus, _ = legacies(column([0, 0]), column([DUE_US, DUE_US]), memory, DUE_US)
    assert gpus.tolist() == [0]


def test_what_the_others_left_is_known_though_one_was_refused_its_own() -> None:
    memory = remembered(column([0, 0, 0]), column([2, 4, 1]), column([DUE_US, 300, 200]), DUE_US)
    known = {name: values[[0, 2]] for name, values in memory.items()}
    gpus, until_us = legacies(column([0, 0]), column([DUE_US, 200]), known, DUE_US)
    assert gpus.tolist() == [4]
    assert until_us.tolist() == [300]
