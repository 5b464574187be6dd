"""Suspicion: who waits long asks around; who finds nobody late asks ever more rarely."""

from __future__ import annotations

from motet.runtime.stealing.late_detector import Suspicion

WORKERS = (0, 1, 2, 3)


def asked(suspicion: Suspicion, wait_us: int, late: tuple[int, ...] = ()) -> list[int]:
    suspicion.waited(wait_us, work_us=10_000)
    whom = suspicion.whom(WORKERS)
    for one in whom:
        suspicion.heard(one, one in late)
    if whom:
        suspicion.asked_around()
    return whom


def test_nobody_is_asked_while_waits_are_short() -> None:
    assert asked(Suspicion(1), wait_us=1_900) == []


def test_a_long_wait_makes_it_ask_everybody_else() -> None:
    assert sorted(asked(Suspicion(1), wait_us=9_000)) == [0, 2, 3]


def test_who_was_late_is_asked_until_it_is_not_late_three_times() -> None:
    suspicion = Suspicion(1)
    asked(suspicion, 9_000, late=(3,))
    assert asked(suspicion, 0, late=(3,)) == [3]
    assert [asked(suspicion, 0) for _ in range(4)] == [[3], [3], [3], []]


def test_who_is_known_to_be_late_is_asked_before_the_others() -> None:
    suspicion = Suspicion(1)
    asked(suspicion, 9_000, late=(0,))
    assert asked(suspicion, 9_000, late=(0,))[0] == 0


def test_pauses_grow_when_nobody_turns_out_to_be_late() -> None:
    suspicion = Suspicion(0)
    rounds = [bool(asked(suspicion, 9_000)) for _ in range(16)]
    assert [i for i, is_asked in enumerate(rounds) if is_asked] == [0, 2, 6, 14]


def test_a_worker_with_many_peers_asks_others_each_time() -> None:
    suspicion, workers = Suspicion(0), tuple(range(30))
    found: set[int] = set()
    for _ in range(4):
        suspicion.waited(9_000, 10_000)
        found |= set(suspicion.whom(workers))
    assert len(found) == 29
