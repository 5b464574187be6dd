"""How attempts count: by the first end that was not a success."""

from __future__ import annotations

import pytest

from motet.live.jobs.attempt import UNFINISHED, AttemptOutcome, StopCause, outcome_of, told
from motet.live.launcher.messages import ExitReason, RankExit


def end(
    code: int | None,
    reason: ExitReason = "exited",
    at_s: float = 1.0,
    signal: int | None = None,
) -> RankExit:
    return RankExit(code, signal, reason, 0.0, at_s)


PREEMPTED = StopCause.PREEMPTED


@pytest.mark.parametrize(
    ("exits", "cause", "outcome"),
    [
        ([end(0), end(0)], None, AttemptOutcome.SUCCEEDED),
        ([end(0)], PREEMPTED, AttemptOutcome.SUCCEEDED),
        ([end(0, "stopped")], PREEMPTED, AttemptOutcome.STOPPED),
        ([end(None, "stopped", signal=15)], PREEMPTED, AttemptOutcome.STOPPED),
        ([end(None, "lost")], PREEMPTED, AttemptOutcome.STOPPED),
        ([end(3), end(None, "stopped", 2.0, 15)], None, AttemptOutcome.FAILED),
        ([end(0), end(None, signal=11)], None, AttemptOutcome.FAILED),
        ([end(None, "lost", 1.0), end(1, "exited", 2.0)], None, AttemptOutcome.LOST),
        ([end(None, "lost", 2.0), end(1, "exited", 1.0)], None, AttemptOutcome.FAILED),
        ([end(None, "stopped", 0.5, 15), end(None, "lost", 2.0)], None, AttemptOutcome.LOST),
        ([end(None, "never_started")], None, AttemptOutcome.LOST),
        ([end(None, "lease", signal=15)], None, AttemptOutcome.LOST),
    ],
)
def test_outcomes(exits: list[RankExit], cause: StopCause | None, outcome: AttemptOutcome) -> None:
    assert outcome_of(tuple(exits), cause) is outcome


@pytest.mark.parametrize(
    ("exits", "outcome"),
    [
        ([end(0), end(0)], AttemptOutcome.SUCCEEDED),
        ([end(None, signal=9), end(None, "stopped", 2.0, 15)], AttemptOutcome.LOST),
        ([end(UNFINISHED), end(None, signal=9, at_s=0.5)], AttemptOutcome.LOST),
        ([end(UNFINISHED), end(0)], AttemptOutcome.LOST),
        ([end(1), end(UNFINISHED, at_s=2.0)], AttemptOutcome.FAILED),
        ([end(2)], AttemptOutcome.FAILED),
    ],
)
def test_a_training_that_was_killed_has_not_failed(
    exits: list[RankExit], outcome: AttemptOutcome
) -> None:
    assert outcome_of(tuple(exits), None, loses_killed=True) is outcome


@pytest.mark.parametrize(
    ("exits", "outcome"),
    [
        ([end(0, "stopped"), end(0, "stopped")], AttemptOutcome.SUCCEEDED),
        ([end(0, "stopped"), end(None, "stopped", 2.0, 9)], AttemptOutcome.SUCCEEDED),
        ([end(UNFINISHED, "stopped"), end(0, "stopped")], AttemptOutcome.STOPPED),
        ([end(None, "stopped", signal=9), end(0, "stopped")], AttemptOutcome.STOPPED),
    ],
)
def test_a_training_that_finished_after_the_signal_has_succeeded(
    exits: list[RankExit], outcome: AttemptOutcome
) -> None:
    """Its first process carries the controller."""
    assert outcome_of(tuple(exits), PREEMPTED, loses_killed=True) is outcome


def test_the_reason_names_the_process_that_failed_first() -> None:
    exits = (end(None, "stopped", 0.5, 15), end(3, "exited", 1.0))
    assert told(exits) == "process 1 exited with status 3"
    assert told((end(None, signal=9),)) == "the process was killed by signal 9"
    assert told((end(UNFINISHED),)) == "the process exited with status 75"
    unfinished = told((end(UNFINISHED),), loses_killed=True)
    assert unfinished == "the process ended before training had finished"
    assert told((end(None, "lost"),)) == "the process was lost: its shepherd was killed"
