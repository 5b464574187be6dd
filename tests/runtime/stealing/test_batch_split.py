"""Every unit is computed once, and all workers end at about the same time."""

from __future__ import annotations

import heapq

from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.runtime.stealing.batch_split import BatchSplit, LeaveToThieves, OwnUnits

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=30)
PACES = st.floats(0.1, 50.0)


@given(sizes=SIZES, own_us=PACES, data=st.data())
def test_every_unit_is_computed_by_exactly_one_worker(
    sizes: list[int], own_us: float, data: st.DataObject
) -> None:
    split = BatchSplit(
        sizes, own_us, crowd=data.draw(st.integers(0, 4)), own_share=data.draw(st.floats(0, 1))
    )
    claimed: list[int] = []
    while len(claimed) < len(sizes):
        if data.draw(st.booleans()):
            claimed += split.grant(
                data.draw(st.integers(0, 3)), data.draw(PACES), data.draw(st.floats(0, 99))
            )
        else:
            found = split.begin_own(may_leave=data.draw(st.booleans()))
            claimed += found.units if isinstance(found, OwnUnits) else []
    assert sorted(claimed) == list(range(len(sizes)))
    assert split.begin_own() is None
    assert not split.grant(0, 1e-6)


@given(sizes=SIZES, own_us=PACES, thief_us=PACES)
def test_a_thief_gets_only_what_it_finishes_before_the_victim_would(
    sizes: list[int], own_us: float, thief_us: float
) -> None:
    split = BatchSplit(sizes, own_us)
    left = split.left
    count = sum(sizes[unit] for unit in split.grant(1, thief_us))
    assert count == 0 or thief_us * count < own_us * left


def finish_us(sizes: list[int], own_us: float, thieves: dict[int, float], idle_at: float) -> float:
    """When the last worker ends if the thieves become idle at `idle_at`."""
    split = BatchSplit(sizes, own_us, crowd=len(thieves))
    events = [(0.0, -1)] + [(idle_at, thief) for thief in thieves]
    heapq.heapify(events)
    end_us = 0.0
    while events:
        now_us, who = heapq.heappop(events)
        end_us = max(end_us, now_us)
        if who >= 0:
            count = sum(sizes[unit] for unit in split.grant(who, thieves[who]))
            if count:
                heapq.heappush(events, (now_us + count * thieves[who], who))
            continue
        found = split.begin_own()
        if isinstance(found, LeaveToThieves):
            heapq.heappush(events, (now_us + max(found.wait_us, 1e-3), -1))
        elif found is not None:
            heapq.heappush(events, (now_us + sum(sizes[u] for u in found.units) * own_us, -1))
    return end_us


@settings(max_examples=examples(200))
@given(
    units=st.integers(12, 40),
    slowdown=st.floats(2.0, 8.0),
    thieves=st.integers(1, 7),
)
def test_thieves_bring_a_slow_worker_near_the_ideal(
    units: int, slowdown: float, thieves: int
) -> None:
    """All have equally many units; the ideal is all units at the sum of all speeds."""
    ideal_us = units * (thieves + 1) / (thieves + 1 / slowdown)
    reached_us = finish_us([1] * units, slowdown, dict.fromkeys(range(thieves), 1.0), float(units))
    assert reached_us <= ideal_us + slowdown + 1
