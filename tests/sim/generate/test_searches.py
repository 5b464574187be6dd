"""Generated searches halve successively, and every part of their work is accounted for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.sim.generate import draw, parse_recipe
from motet.sim.generate.searches import SearchRecipe, generate_searches, rung_parts
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload


def drawn(seed: int = 0, searches: int | None = None) -> Workload:
    recipe = parse_recipe("themis-100", searches, None, None)
    return draw(recipe, np.random.default_rng(seed))


def test_eight_configurations_are_halved_three_times() -> None:
    assert rung_parts(3).tolist() == [1 / 8] * 4 + [1 / 4] * 2 + [1 / 2, 1]
    assert rung_parts(0).tolist() == [1]


@given(halvings=st.integers(0, 12))
def test_half_of_those_that_are_left_stop_at_every_rung(halvings: int) -> None:
    """By playing it: all train to the next rung, which is twice as far, and half of them stop."""
    left, at, ended = 2**halvings, 1 / 2**halvings, []
    while left > 1:
        ended += [at] * (left // 2)
        left, at = left - left // 2, 2 * at
    assert rung_parts(halvings).tolist() == [*ended, 1.0]
    assert rung_parts(halvings).sum() == halvings / 2 + 1


def test_jobs_of_a_search_come_together_and_are_alike() -> None:
    jobs = drawn()
    assert len(jobs.experiment_names) == 100
    sizes = np.bincount(jobs.experiment)
    assert set(sizes.tolist()) == {1, 2, 4, 8, 16, 32}
    for experiment in range(100):
        rows = np.flatnonzero(jobs.experiment == experiment)
        for column in (jobs.submit_us, jobs.gpus, jobs.model):
            assert len(set(column[rows].tolist())) == 1
        parts = jobs.duration_us[rows] / jobs.duration_us[rows].max()
        halvings = int(np.log2(len(rows)))
        np.testing.assert_allclose(np.sort(parts), np.sort(rung_parts(halvings)), rtol=1e-3)


def test_the_bytes_depend_only_on_the_seed() -> None:
    assert motet_csv(drawn(7)) == motet_csv(drawn(7))
    assert motet_csv(drawn(7)) != motet_csv(drawn(8))


def test_a_number_of_jobs_counts_searches() -> None:
    assert len(drawn(searches=6).experiment_names) == 6


def test_durations_cannot_be_set() -> None:
    with pytest.raises(BadInput, match="those of themis-100 follow from the rungs"):
        parse_recipe("themis-100", None, None, "bins")


def test_fewer_than_one_search_is_refused() -> None:
    with pytest.raises(BadInput, match="--jobs 0: must be 1 or more searches"):
        generate_searches(SearchRecipe(searches=0), np.random.default_rng(0))
