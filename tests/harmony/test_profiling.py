"""Jobs without a profile: as many as possible on as few machines as possible, then together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Floats
from motet.harmony.problem import Grouping, JobCosts, JobGroup
from motet.harmony.profiling import first_groups, group_for_profiling

NO_LIMIT = float("inf")


def needing(memory: Sequence[float], fixed: Sequence[float] | None = None) -> JobCosts:
    """Jobs that need so much memory on all their machines, and on each of them."""
    none: Floats = np.zeros(len(memory))
    each = none if fixed is None else np.array(fixed, float)
    return JobCosts(none, none, none, np.array(memory, float), each, none)


MEMORY = st.lists(st.floats(0, 100), min_size=1, max_size=12)


def test_every_job_gets_as_many_machines_as_its_memory_needs() -> None:
    found = first_groups(needing([25, 5, 10]), 5, 10)
    assert found == Grouping((JobGroup((1,), 1), JobGroup((2,), 1), JobGroup((0,), 3)))


def test_jobs_share_machines_where_there_are_more_jobs() -> None:
    assert first_groups(needing([1, 1, 1, 1, 1]), 2, NO_LIMIT) == Grouping(
        (JobGroup((0, 2, 4), 1), JobGroup((1, 3), 1))
    )


def test_a_job_waits_where_no_group_has_memory_for_it() -> None:
    assert first_groups(needing([6, 6, 6, 30]), 2, 10).jobs == (0, 1)


@given(MEMORY, st.integers(1, 8), st.floats(1, 60))
def test_first_groups_never_exceed_machines_or_memory(
    memory: list[float], machines: int, limit: float
) -> None:
    found = first_groups(needing(memory), machines, limit)
    assert found.machines <= machines
    assert len(set(found.jobs)) == len(found.jobs)
    for group in found.groups:
        assert sum(memory[job] for job in group.jobs) <= group.machines * limit


def test_what_each_machine_needs_is_counted_on_all_of_them() -> None:
    """20 divided and 4 on each: 2 machines of 10 have 28 to hold, 4 have 36."""
    assert first_groups(needing([20], [4]), 5, 10) == Grouping((JobGroup((0,), 4),))
    assert first_groups(needing([20], [10]), 5, 10) == Grouping()
    group = Grouping((JobGroup((0,), 2),))
    assert group_for_profiling(group, needing([6, 6], [2, 2]), 10, 1, set()) == group.groups[0]
    assert group_for_profiling(group, needing([6, 6], [2, 3]), 10, 1, set()) is None


@given(st.integers(1, 8), st.integers(1, 20))
def test_without_a_limit_of_memory_all_jobs_run(machines: int, jobs: int) -> None:
    found = first_groups(needing([1e9] * jobs), machines, NO_LIMIT)
    assert len(found.jobs) == jobs
    assert found.machines == min(machines, jobs)


def test_a_new_job_joins_others_that_are_being_profiled_then_the_smallest_group() -> None:
    grouping = Grouping((JobGroup((0,), 3), JobGroup((1,), 2), JobGroup((2,), 4)))
    memory = [1.0] * 4

    def chosen(profiling: set[int], limit: float = NO_LIMIT) -> JobGroup | None:
        return group_for_profiling(grouping, needing(memory), limit, 3, profiling)

    assert chosen(set()) == grouping.groups[1]
    assert chosen({2}) == grouping.groups[2]
    assert chosen({0, 2}) == grouping.groups[0]
    assert chosen(set(), limit=0.5) == grouping.groups[2]
    assert chosen(set(), limit=0.4) is None
