"""Replays are kept, within bounds, and their numbers stay theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.server.what_if.replay_store import (
    MOST_PER_USER,
    ReplayState,
    ReplayStore,
    ReplayUnderWay,
    WantedReplay,
)

FIFO = WantedReplay("fifo", {"min_runtime": "5"}, 7)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplayStore]:
    found = ReplayStore(tmp_path)
    found.open(0)
    yield found
    found.close()


def done(store: ReplayStore, user: str = "ann") -> int:
    number = store.add(user, FIFO, 10)
    store.end(number, ReplayState.DONE, 20, "", '{"runs": [1]}')
    return number


def test_a_replay_is_found_again(store: ReplayStore) -> None:
    number = done(store)
    found = store.find(number)
    assert found is not None
    assert (found.user, found.wanted, found.state) == ("ann", FIFO, ReplayState.DONE)
    assert (found.asked_us, found.ended_us) == (10, 20)
    assert store.result(number) == {"runs": [1]}


def test_a_user_has_one_replay_at_a_time(store: ReplayStore) -> None:
    first = store.add("ann", FIFO, 1)
    with pytest.raises(ReplayUnderWay, match=f"your replay {first} has not ended") as refused:
        store.add("ann", FIFO, 2)
    assert refused.value.number == first
    store.add("bob", FIFO, 2)
    store.end(first, ReplayState.STOPPED, 3, "", "")
    store.add("ann", FIFO, 4)


def test_what_has_ended_stays_as_it_is(store: ReplayStore) -> None:
    number = done(store)
    store.end(number, ReplayState.STOPPED, 99, "late", "")
    found = store.find(number)
    assert found is not None
    assert (found.state, found.ended_us) == (ReplayState.DONE, 20)


def test_the_latest_of_every_user_are_kept(store: ReplayStore) -> None:
    others = done(store, "bob")
    numbers = [done(store) for _ in range(MOST_PER_USER + 5)]
    assert [each.number for each in store.all()] == [*reversed(numbers[5:]), others]


def test_a_number_never_leads_to_another_replay(store: ReplayStore) -> None:
    number = done(store)
    store.delete(number)
    assert store.find(number) is None
    assert store.result(number) is None
    assert done(store) == number + 1


def test_a_replay_under_way_is_not_deleted(store: ReplayStore) -> None:
    number = store.add("ann", FIFO, 1)
    store.delete(number)
    assert store.find(number) is not None


def test_replays_of_a_server_that_ended_have_failed(store: ReplayStore, tmp_path: Path) -> None:
    kept, lost = done(store), store.add("ann", FIFO, 1)
    store.close()
    store.open(50)
    found = {each.number: each.state for each in store.all()}
    assert found == {kept: ReplayState.DONE, lost: ReplayState.FAILED}
    store.add("ann", FIFO, 60)
