"""Plans: every key reaches its owner, and its value comes back to its place."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.client.routes import KeyPlan, Route
from motet.runtime.core.partition import Partition
from motet.runtime.wire.ownership import Ownership


@st.composite
def plans(draw: st.DrawFn) -> tuple[KeyPlan, Ownership]:
    key_count = draw(st.integers(1, 120))
    partition = Partition(
        key_count, draw(st.integers(1, key_count)), draw(st.sampled_from(["range", "hash"]))
    )
    keys = draw(st.none() | st.lists(st.integers(0, key_count - 1), unique=True, max_size=40))
    owners = draw(
        st.lists(st.integers(0, 3), min_size=partition.block_count, max_size=partition.block_count)
    )
    plan = KeyPlan(
        partition,
        None if keys is None else np.array(keys, dtype=np.int64),
        cover_all=draw(st.booleans()),
    )
    return plan, Ownership(1, np.array(owners, dtype=np.int32))


def named_keys(partition: Partition, route: Route) -> list[int]:
    keys: list[int] = []
    for block, rows in route.selection.pieces():
        in_block = partition.keys_of(block)
        keys += in_block.tolist() if rows is None else in_block[rows].tolist()
    return keys


def check(plan: KeyPlan, routes: list[Route]) -> None:
    wanted = np.arange(plan.partition.key_count) if plan.keys is None else plan.keys
    received = np.full(plan.length, -1)
    for route in routes:
        sent = np.concatenate([*route.part_of(wanted), np.empty(0, np.int64)])
        assert sent.tolist() == named_keys(plan.partition, route)
        assert len(sent) == route.row_count
        views = route.views(received)
        if views is None:
            received[route.index] = sent
        else:
            offset = 0
            for view in views:
                view[:] = sent[offset : offset + len(view)]
                offset += len(view)
    assert received.tolist() == wanted.tolist()


def test_routes_are_made_once_for_each_ownership_table() -> None:
    first = Ownership.even(4, [0, 1])
    plan = KeyPlan(Partition(40, 4, "range"), None, cover_all=False)
    before = plan.routes(first)
    assert plan.routes(first) is before
    assert plan.routes(first.moved([0], 1)) is not before


@given(plans())
def test_values_return_to_the_place_of_their_key(case: tuple[KeyPlan, Ownership]) -> None:
    plan, ownership = case
    routes = plan.routes(ownership)
    assert all(
        ownership.owners[block] == route.owner
        for route in routes
        for block in route.selection.blocks
    )
    check(plan, routes)


@given(plans(), st.integers(1, 50))
def test_chunks_of_a_route_are_the_route(case: tuple[KeyPlan, Ownership], limit: int) -> None:
    plan, ownership = case
    check(
        plan,
        [c for route in plan.routes(ownership) for c in route.chunks(limit, plan.partition)],
    )


@given(plans())
def test_a_plan_that_covers_all_names_every_block_once(case: tuple[KeyPlan, Ownership]) -> None:
    plan, ownership = case
    named = sorted(
        int(block) for route in plan.routes(ownership) for block in route.selection.blocks
    )
    assert named == plan.blocks


def test_routes_follow_a_new_ownership_table() -> None:
    plan = KeyPlan(Partition(10, 5), None, cover_all=True)
    before = Ownership.even(5, [0, 1])
    assert [route.owner for route in plan.routes(before)] == [0, 1]
    assert [route.owner for route in plan.routes(before.moved([0, 1, 2], 1))] == [1]
