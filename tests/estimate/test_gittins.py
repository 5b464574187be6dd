"""The index against its definition, evaluated by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.estimate.gittins import ServiceDistribution

samples = st.lists(st.integers(1, 40), min_size=1, max_size=12)


def ratio(services: list[int], attained: float, quantum: float) -> float:
    """P(S - a <= D | S > a) / E[min(S - a, D) | S > a], term by term."""
    left = [service - attained for service in services if service > attained]
    if not left:
        return 0.0
    finishing = sum(each <= quantum for each in left) / len(left)
    return finishing / (sum(min(each, quantum) for each in left) / len(left))


@given(samples, st.integers(0, 45), st.integers(1, 50))
def test_the_discretised_index_is_its_definition(
    services: list[int], attained: int, quantum: int
) -> None:
    got = ServiceDistribution(services).discretised_index([attained], quantum)
    assert got[0] == pytest.approx(ratio(services, attained, quantum))


@given(samples, st.integers(0, 45))
def test_the_index_is_the_supremum_over_all_quanta(services: list[int], attained: int) -> None:
    quanta = np.arange(1, 45)
    best = max(ratio(services, attained, float(quantum)) for quantum in quanta)
    assert ServiceDistribution(services).index([attained])[0] == pytest.approx(best)


real = st.floats(0.001, 1e6)


@given(st.lists(real, max_size=30), st.lists(st.floats(0, 1e6), max_size=8))
def test_indices_of_many_jobs_are_those_of_each_to_the_last_bit(
    services: list[float], attained: list[float]
) -> None:
    """Jobs are ordered by them, so rounding in another order would change decisions."""
    found = ServiceDistribution(services).index([*attained, *attained])
    for job, service in enumerate([*attained, *attained]):
        later = np.sort(services)[np.sort(services) > service] - service
        finishing = np.arange(1, len(later) + 1)
        total = np.cumsum(later) + (len(later) - finishing) * later
        assert found[job] == (finishing / total).max(initial=0.0)


@given(samples, st.integers(0, 45))
def test_an_endless_quantum_gives_the_inverse_of_the_mean_rest(
    services: list[int], attained: int
) -> None:
    got = ServiceDistribution(services).discretised_index([attained], math.inf)
    left = [service - attained for service in services if service > attained]
    assert got[0] == pytest.approx(1 / np.mean(left) if left else 0.0)


def test_the_index_of_the_papers_example() -> None:
    services = ServiceDistribution([4, 8, 12])
    inverse = [8, 7, 6, 3, 6, 5, 4, 2, 4, 3, 2, 1]
    assert services.index(range(12)).tolist() == pytest.approx([1 / each for each in inverse])
