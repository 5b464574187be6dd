"""Times of COMM that yields to other jobs."""

from __future__ import annotations

from motet.runtime.core.subtask import Subtask, SubtaskKind, SubtaskLog

PUSH = SubtaskKind.PUSH


def push(took_us: int, payload_bytes: int) -> Subtask:
    return Subtask(PUSH, 0, 0, took_us, payload_bytes=payload_bytes)


def test_comm_that_yields_counts_as_what_its_bytes_take_alone() -> None:
    log = SubtaskLog()
    log.add_comm(push(100, 1000), yields=False)
    log.add_comm(push(900, 2000), yields=True)
    assert log.busy_us[PUSH] == 100 + 200
    assert log.payload_bytes[PUSH] == 3000


def test_comm_that_yields_but_was_fast_counts_as_it_was() -> None:
    log = SubtaskLog()
    log.add_comm(push(100, 1000), yields=False)
    log.add_comm(push(50, 1000), yields=True)
    assert log.busy_us[PUSH] == 150


def test_before_anything_is_known_comm_counts_as_it_was() -> None:
    log = SubtaskLog()
    log.add_comm(push(900, 1000), yields=True)
    assert log.busy_us[PUSH] == 900


def test_comm_without_bytes_counts_as_the_mean() -> None:
    log = SubtaskLog()
    for took_us in (10, 30):
        log.add_comm(push(took_us, 0), yields=False)
    log.add_comm(push(900, 0), yields=True)
    assert log.busy_us[PUSH] == 10 + 30 + 20


def test_a_later_epoch_knows_the_times_of_earlier_ones_and_forgets_old_ones() -> None:
    times = SubtaskLog().comm_times
    for took_us in [1000] * 200 + [100] * 1000:
        SubtaskLog(comm_times=times).add_comm(push(took_us, 1000), yields=False)
    log = SubtaskLog(comm_times=times)
    log.add_comm(push(5000, 1000), yields=True)
    assert 100 <= log.busy_us[PUSH] < 110
