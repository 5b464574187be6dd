"""Jobs of a group name each other, and move as a plain definition by sets says."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from decisions import decision, rows, state_with
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import UNKNOWN
from motet.engine.state.partners import Partners
from policy_snapshots import jobs_of

SMALL = {"gpus": 2}
jobs_with_groups = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(-1, 2), st.integers(-1, 2)), max_size=9
)
"""Of each job: whether it holds GPUs, and will; the slots on which it is, and its new group; -1:
alone."""


def test_jobs_of_one_group_are_partners_while_both_run() -> None:
    jobs = state_with(SMALL, SMALL, SMALL, cluster=ClusterSpec.of([4, 4])).jobs
    both = decision([2, 2, 0], group=rows(7, 7, -1))
    assert Partners(both, jobs) == {10: (11,), 11: (10,)}
    assert Partners(decision([2, 0, 0], group=rows(7, 7, -1)), jobs) == {}


def test_the_jobs_of_a_group_name_each_other_in_the_order_of_the_policy() -> None:
    jobs = state_with(SMALL, SMALL, SMALL, cluster=ClusterSpec.of([4, 4])).jobs
    asked = decision([2, 2, 2], order=[2, 0, 1], group=rows(7, 7, 7))
    assert Partners(asked, jobs) == {10: (12, 11), 11: (12, 10), 12: (10, 11)}


def test_without_groups_no_job_has_partners() -> None:
    jobs = state_with(SMALL, cluster=ClusterSpec.of([4])).jobs
    assert Partners(decision([2]), jobs).get(10) is None


@given(known=jobs_with_groups, data=st.data())
def test_jobs_move_to_the_first_of_their_group_and_one_of_those_that_part_stays(
    known: list[tuple[bool, bool, int, int]], data: st.DataObject
) -> None:
    size = len(known)
    order = data.draw(st.permutations(range(size)))
    on_same, in_same = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for job, (holds, runs, slots, group) in enumerate(known):
        if holds:
            on_same[slots if slots != UNKNOWN else -job - 2].add(job)
        if runs:
            in_same[group if group != UNKNOWN else -job - 2].add(job)
    partner = np.full(size, UNKNOWN)
    for together in on_same.values():
        for job in together:
            partner[job] = min(together - {job}, default=UNKNOWN)
    held = [2 * holds for holds, _, _, _ in known]
    asked = decision(
        [2 * runs for _, runs, _, _ in known],
        order=order,
        group=np.array([group for _, _, _, group in known], dtype=np.int64),
    )
    jobs = jobs_of(size, {"held_gpus": held, "partner": partner.tolist()})

    place = asked.reasons.position.tolist().__getitem__
    leader = {job: min(group, key=place) for group in in_same.values() for job in group}
    in_groups = {job for group in in_same.values() if len(group) > 1 for job in group}
    moved = set[int]()
    for together in on_same.values():
        continuing = together & leader.keys()
        staying = [job for job in continuing if leader[job] in continuing]
        first = min(staying, key=lambda job: (job not in in_groups, place(job)), default=None)
        keeper = None if first is None else leader[first]
        moved |= {job for job in continuing if leader[job] != keeper}
    assert {*Partners(asked, jobs).regrouped().tolist()} == moved
