"""The pool of a lender under random requests of its clients."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from motet.remote_memory.core.head_room import SlabCounts
from motet.remote_memory.core.lent_slabs import LentSlab, LentSlabs, LentState

QUOTA = 2
CLIENTS = st.sampled_from("abc")


def pool(slabs: int, quota: int | None = None) -> LentSlabs:
    tokens = itertools.count()
    found = LentSlabs(lambda: next(tokens).to_bytes(16, "little"), quota)
    for number in range(slabs):
        found.add(number)
    return found


def lent(slabs: LentSlabs, client: str = "a") -> LentSlab:
    slab = slabs.lend(client)
    assert slab is not None
    return slab


class PoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pool = pool(0, QUOTA)
        self.free: set[int] = set()
        self.lent: dict[bytes, LentSlab] = {}
        self.added = 0
        self.generation = 0

    @rule()
    def add(self) -> None:
        self.pool.add(self.added)
        self.free.add(self.added)
        self.added += 1

    @rule(count=st.integers(0, 3))
    def release(self, count: int) -> None:
        taken = self.pool.take_free(count)
        assert len(taken) == min(count, len(self.free))
        self.free -= set(taken)

    @rule(client=CLIENTS)
    def lend(self, client: str) -> None:
        held = sum(slab.client == client for slab in self.lent.values())
        assert self.pool.room_for(client) == min(len(self.free), QUOTA - held)
        slab = self.pool.lend(client)
        assert (slab is not None) == (bool(self.free) and held < QUOTA)
        if slab is not None:
            assert slab.token not in self.lent
            assert slab.generation > self.generation
            self.generation = slab.generation
            self.free.remove(slab.number)
            self.lent[slab.token] = slab

    @rule(deadline_us=st.integers(0, 9), data=st.data())
    def evict(self, deadline_us: int, data: st.DataObject) -> None:
        mapped = [each.token for each in self.pool.mapped()]
        tokens = data.draw(st.lists(st.sampled_from([*mapped, b"unknown"]), unique=True))
        begun = self.pool.begin_eviction(tokens, deadline_us)
        assert {each.token for each in begun} == set(tokens) - {b"unknown"}
        assert all(each.state is LentState.EVICTING for each in begun)

    @rule(now_us=st.integers(0, 9))
    def look_for_overdue_slabs(self, now_us: int) -> None:
        expected = {
            token
            for token, slab in self.lent.items()
            if slab.state is LentState.EVICTING and slab.deadline_us <= now_us
        }
        assert {slab.token for slab in self.pool.overdue(now_us)} == expected

    @rule(data=st.data(), client=st.none() | CLIENTS)
    def give_back(self, data: st.DataObject, client: str | None) -> None:
        slabs = [*self.lent.values(), LentSlab(0, "a", b"unknown", 1)]
        slab = data.draw(st.sampled_from(slabs))
        is_owner = client in (None, slab.client) and slab.token in self.lent
        assert self.pool.give_back(slab.token, slab.generation + 1, client) is None
        number = self.pool.give_back(slab.token, slab.generation, client)
        assert number == (slab.number if is_owner else None)
        if is_owner:
            del self.lent[slab.token]

    @invariant()
    def every_slab_is_free_or_lent_once(self) -> None:
        evicting = sum(each.state is LentState.EVICTING for each in self.lent.values())
        assert self.pool.counts == SlabCounts(len(self.free), len(self.lent), evicting)
        assert {each.token for each in self.pool.all()} == set(self.lent)
        numbers = [*self.free, *(slab.number for slab in self.lent.values())]
        assert len(numbers) == len(set(numbers))


TestPoolMachine = PoolMachine.TestCase


def test_a_client_that_gets_no_slab_does_not_count() -> None:
    """In the original a mapping without a free slab is counted as one."""
    slabs = pool(1)
    lent(slabs)
    assert slabs.lend("b") is None
    assert slabs.counts == SlabCounts(free=0, mapped=1)


def test_another_client_cannot_give_a_slab_back() -> None:
    slabs = pool(1)
    slab = lent(slabs, "a")
    assert slabs.give_back(slab.token, slab.generation, "b") is None
    assert slabs.give_back(slab.token, slab.generation, "a") == slab.number
