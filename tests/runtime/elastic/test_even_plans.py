"""Plans that lead to given numbers of workers and servers."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.reconfiguration import Move
from motet.runtime.elastic.even_plans import plan_for_counts, plan_for_executors, share_moves
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_plan
from motet.runtime.elastic.role_placement import RolePlacement

LAYOUT = JobLayout.even(RolePlacement((0, 1), (3, 4)), model_blocks=16, data_blocks=12)


@settings(max_examples=examples(200))
@given(
    start=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    workers=st.integers(1, 6),
    servers=st.integers(1, 6),
)
def test_a_plan_for_counts_leads_there_with_even_shares(
    start: tuple[int, int], workers: int, servers: int
) -> None:
    layout = JobLayout.even(RolePlacement.spread(6, *start), model_blocks=16, data_blocks=12)
    plan = plan_for_counts(layout, workers, servers, range(6))
    after = layout_after_plan(layout, plan, range(6))
    assert (len(after.workers), len(after.servers)) == (workers, servers)
    for owned, holders in ((after.model, after.servers), (after.data, after.workers)):
        held = Counter(owned.owners.tolist())
        assert sorted(held) == sorted(holders)
        assert max(held.values()) - min(held.values()) <= 1


def test_a_plan_for_the_present_counts_is_empty() -> None:
    assert plan_for_counts(LAYOUT, 2, None, range(5)).is_empty


def test_growing_moves_only_the_new_share() -> None:
    plan = plan_for_counts(LAYOUT, 3, 2, range(5))
    moves = [each for each in plan.operations if isinstance(each, Move)]
    assert {move.table for move in moves} == {"data"}
    assert sum(len(move.blocks) for move in moves) == 4


def test_a_server_that_is_not_needed_becomes_the_worker_that_is() -> None:
    after = layout_after_plan(LAYOUT, plan_for_counts(LAYOUT, 4, 1, range(5)), range(5))
    assert after.workers == (0, 1, 2, 3)
    assert after.servers == (4,)


def test_a_plan_for_executors_leads_to_these_executors() -> None:
    after = layout_after_plan(LAYOUT, plan_for_executors(LAYOUT, (1, 2), (0,)), range(5))
    assert (after.workers, after.servers) == ((1, 2), (0,))
    assert Counter(after.data.owners.tolist()) == {1: 6, 2: 6}


def test_moves_to_shares_take_only_what_is_above_the_share() -> None:
    moves = share_moves(LAYOUT, "data", {0: 2, 1: 7, 2: 3})
    counts = {(move.source, move.destination): len(move.blocks) for move in moves}
    assert counts == {(0, 1): 1, (0, 2): 3}
