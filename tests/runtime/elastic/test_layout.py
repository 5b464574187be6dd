"""RolePlacement and owners: who takes over what when roles begin and end."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from motet.domain.reconfiguration import RoleCounts
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.role_placement import RolePlacement
from motet.runtime.wire.ownership import Ownership

LAYOUT = JobLayout.even(RolePlacement((0, 1), (1, 4)), model_blocks=8, data_blocks=6)


def blocks(owned: Ownership) -> Counter[int]:
    """Blocks of every owner."""
    return Counter(owned.owners.tolist())


def test_even_shares_keep_model_blocks_together_and_deal_data_blocks() -> None:
    assert LAYOUT.model.owners.tolist() == [1, 1, 1, 1, 4, 4, 4, 4]
    assert LAYOUT.data.owners.tolist() == [0, 1, 0, 1, 0, 1]
    assert (LAYOUT.executors, LAYOUT.counts) == ([0, 1, 4], RoleCounts(2, 2))


def test_roles_and_owners_are_found_by_executor_and_table() -> None:
    assert [LAYOUT.roles_of(e) for e in (0, 1, 4, 9)] == [
        ("worker",),
        ("worker", "server"),
        ("server",),
        (),
    ]
    assert (LAYOUT.holders("worker"), LAYOUT.holders("server")) == ((0, 1), (1, 4))
    assert (LAYOUT.owners("data"), LAYOUT.owners("model")) == (LAYOUT.data, LAYOUT.model)


def test_a_new_role_has_no_blocks_yet() -> None:
    more = LAYOUT.with_role(0, "server").with_role(7, "worker")
    assert (more.workers, more.servers) == ((0, 1, 7), (0, 1, 4))
    assert (more.data, more.model) == (LAYOUT.data, LAYOUT.model)


def test_the_blocks_of_an_ended_role_are_spread_over_its_other_holders() -> None:
    without = LAYOUT.without_role(1, "server")
    assert (without.workers, without.servers) == ((0, 1), (4,))
    assert blocks(without.model) == {4: 8}
    assert without.data is LAYOUT.data
    assert blocks(LAYOUT.without_role(0, "worker").data) == {1: 6}


def test_spread_blocks_go_to_the_executors_with_fewest() -> None:
    uneven = LAYOUT.with_role(7, "server").moved("model", [0, 1, 2], 7)
    assert blocks(uneven.model) == {1: 1, 7: 3, 4: 4}
    assert blocks(uneven.without_role(4, "server").model) == {1: 4, 7: 4}


def test_a_successor_takes_all_roles_and_blocks() -> None:
    after = LAYOUT.replaced(1, 9)
    assert (after.workers, after.servers) == ((0, 9), (4, 9))
    assert after.data.blocks_of(9) == LAYOUT.data.blocks_of(1)
    assert after.model.blocks_of(9) == LAYOUT.model.blocks_of(1)


def test_a_retired_server_still_has_its_blocks() -> None:
    retired = LAYOUT.retired(4)
    assert retired.servers == (1,)
    assert retired.model is LAYOUT.model


def test_moved_blocks_make_a_new_version_of_their_table_only() -> None:
    moved = LAYOUT.moved("data", [0, 2], 1)
    assert moved.data.blocks_of(1) == [0, 1, 2, 3, 5]
    assert moved.data.version > LAYOUT.data.version
    assert moved.model is LAYOUT.model


def test_abandoned_roles_leave_their_blocks_to_a_repair() -> None:
    left = LAYOUT.abandoned_by([4, 0])
    assert (left.workers, left.servers) == ((1,), (1,))
    assert left.model is LAYOUT.model
    repaired = left.repaired()
    assert (blocks(repaired.model), blocks(repaired.data)) == ({1: 8}, {1: 6})


def test_nothing_is_repaired_where_every_owner_holds_the_role() -> None:
    repaired = LAYOUT.repaired()
    assert (repaired.model, repaired.data) == (LAYOUT.model, LAYOUT.data)


@given(st.lists(st.integers(0, 5), min_size=12, max_size=12), st.sets(st.integers(0, 5)))
def test_a_repair_moves_only_the_blocks_of_strangers(owners: list[int], others: set[int]) -> None:
    servers = tuple(sorted({*others, 2}))
    layout = JobLayout.even(RolePlacement((0,), servers), model_blocks=12, data_blocks=1)
    for block, owner in enumerate(owners):
        layout = layout.moved("model", [block], owner)
    after = layout.repaired().model.owners.tolist()
    assert set(after) <= set(servers)
    assert all(new == old for new, old in zip(after, owners, strict=True) if old in servers)
