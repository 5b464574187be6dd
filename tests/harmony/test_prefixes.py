"""The compiled Algorithms 1 and 2 against the printed ones, and what they do with memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import harmony_letter
from grouping_cases import GIB, random_problem
from motet.harmony.prefixes import paper_grouping
from motet.harmony.problem import Grouping


@pytest.mark.parametrize("seed", range(60))
def test_the_grouping_is_that_of_the_printed_algorithm(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    jobs, machines = int(rng.integers(1, 30)), int(rng.integers(1, 40))
    problem = random_problem(
        seed, jobs, machines, with_constant=seed % 2 == 1, with_outside=seed % 4 > 1
    )
    assert paper_grouping(problem) == harmony_letter.schedule(problem)


def test_a_group_without_enough_memory_ends_the_search() -> None:
    problem = random_problem(4, 6, 8)
    assert len(paper_grouping(problem).jobs) > 1
    memory = problem.costs._replace(memory_bytes=np.array([8 * 32.0] + [1e6] * 5) * GIB)
    small = replace(problem, costs=memory, machine_memory_bytes=32 * GIB)
    assert paper_grouping(small).jobs == (0,)


def test_without_jobs_or_memory_there_are_no_groups() -> None:
    assert paper_grouping(random_problem(0, 0, 4)) == Grouping()
    huge = random_problem(0, 3, 4)
    costs = huge.costs._replace(memory_bytes=np.full(3, 1e12))
    assert paper_grouping(replace(huge, costs=costs, machine_memory_bytes=1.0)) == Grouping()
