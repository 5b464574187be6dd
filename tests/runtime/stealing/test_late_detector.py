"""A worker probes the others after long waits, and more rarely while none of them is late."""

from __future__ import annotations

from motet.runtime.stealing.late_detector import LateDetector

WORKERS = (0, 1, 2, 3)


def asked(detector: LateDetector, wait_us: int, late: tuple[int, ...] = ()) -> list[int]:
    detector.note_wait(wait_us, work_us=10_000)
    whom = detector.candidates(WORKERS)
    for one in whom:
        detector.note_answer(one, one in late)
    if whom:
        detector.end_round()
    return whom


def test_no_worker_is_probed_while_waits_are_short() -> None:
    assert asked(LateDetector(1), wait_us=1_900) == []


def test_after_a_long_wait_all_others_are_probed() -> None:
    assert sorted(asked(LateDetector(1), wait_us=9_000)) == [0, 2, 3]


def test_a_late_worker_is_probed_until_it_is_not_late_three_times() -> None:
    detector = LateDetector(1)
    asked(detector, 9_000, late=(3,))
    assert asked(detector, 0, late=(3,)) == [3]
    assert [asked(detector, 0) for _ in range(4)] == [[3], [3], [3], []]


def test_workers_known_to_be_late_are_probed_first() -> None:
    detector = LateDetector(1)
    asked(detector, 9_000, late=(0,))
    assert asked(detector, 9_000, late=(0,))[0] == 0


def test_pauses_grow_while_no_worker_is_late() -> None:
    detector = LateDetector(0)
    rounds = [bool(asked(detector, 9_000)) for _ in range(16)]
    assert [i for i, is_asked in enumerate(rounds) if is_asked] == [0, 2, 6, 14]


def test_a_worker_with_many_peers_probes_others_each_time() -> None:
    detector, workers = LateDetector(0), tuple(range(30))
    found: set[int] = set()
    for _ in range(4):
        detector.note_wait(9_000, 10_000)
        found |= set(detector.candidates(workers))
    assert len(found) == 29
