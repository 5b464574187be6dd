from __future__ import annotations

import logging

import pytest

from motet.torch.patience import wait_for


class _Late:
    """Done after some waits."""

    def __init__(self, waits: int) -> None:
        self.asked: list[float | None] = []
        self._waits = waits

    def wait(self, timeout_s: float | None = None) -> None:
        self.asked.append(timeout_s)
        if len(self.asked) <= self._waits:
            raise TimeoutError


def test_waits_that_take_long_are_said_ever_more_seldom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    late = _Late(3)
    with caplog.at_level(logging.WARNING, "motet.torch"):
        wait_for(late, "the new value of 'w'")
    assert late.asked == [30, 60, 120, 240]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        f"the new value of 'w' has not come for {seconds} s" for seconds in (30, 90, 210)
    ]


def test_what_is_there_is_not_said(caplog: pytest.LogCaptureFixture) -> None:
    wait_for(_Late(0), "the new value of 'w'")
    assert caplog.records == []
