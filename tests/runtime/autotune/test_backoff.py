"""Every failure in a row doubles the pause, up to a limit."""

from __future__ import annotations

from motet.runtime.autotune.backoff import FailureBackoff


def test_without_a_failure_there_is_no_pause() -> None:
    assert not FailureBackoff().is_paused(0.0)


def test_pauses_double_up_to_the_longest_one() -> None:
    backoff = FailureBackoff(first_pause_s=3.0, longest_pause_s=10.0)
    for began_s, pause_s in ((100.0, 3.0), (200.0, 6.0), (300.0, 10.0), (400.0, 10.0)):
        backoff.failed(began_s)
        assert backoff.is_paused(began_s + pause_s - 0.01)
        assert not backoff.is_paused(began_s + pause_s)


def test_a_success_makes_the_next_failure_the_first_one() -> None:
    backoff = FailureBackoff(first_pause_s=3.0)
    backoff.failed(0.0)
    backoff.failed(0.0)
    backoff.succeeded()
    backoff.failed(100.0)
    assert not backoff.is_paused(103.0)


def test_a_success_does_not_end_a_pause() -> None:
    backoff = FailureBackoff(first_pause_s=3.0)
    backoff.failed(0.0)
    backoff.succeeded()
    assert backoff.is_paused(2.0)
