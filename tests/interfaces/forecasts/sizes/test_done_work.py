"""Work of spans in which a job trained asynchronously, and of those in which it did not."""

from __future__ import annotations

import pytest

from motet.domain.units import SECOND_US
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.interfaces.forecasts.sizes.done_work import DoneWork
from motet.interfaces.forecasts.sizes.held_spans import HeldSpan
from motet.sim.workload.size_speeds import SizeSpeeds

BALANCED = SubtaskProfile.of(1, 2.0, 2.0)
SMALL = SubtaskProfile.of(1, 0.5, 0.5)
ROLES = {"workers": 1, "servers": 0}


def span(from_s: int, to_s: int, partners: tuple[int, ...] = (), *switched: int) -> HeldSpan:
    us = from_s * SECOND_US, to_s * SECOND_US
    return HeldSpan(*us, 1, 0, partners, frozenset(switched))


def test_each_span_counts_the_mode_that_its_jobs_had() -> None:
    """An iteration takes 2 s with overlap, 4 s without; beside the other 2.5 and 4 s."""
    spans = [span(0, 100, (), 1), span(100, 200), span(200, 300, (2,), 1), span(300, 400, (2,))]
    done = DoneWork(1, spans, {1: BALANCED, 2: SMALL})
    found = [done.until(second * SECOND_US) for second in (100, 200, 300, 400)]
    assert found == pytest.approx([50, 75, 115, 140])


def test_a_job_beside_one_without_a_profile_has_a_part_of_its_own_speed() -> None:
    done = DoneWork(1, [span(0, 100, (2,), 1)], {1: BALANCED, 2: SizeSpeeds({(1, 0): 1.0})})
    assert done.whole == pytest.approx(25)


@pytest.mark.parametrize("until_s", [100, 150])
def test_a_running_job_goes_on_in_its_mode(until_s: int) -> None:
    done = DoneWork(1, [span(0, 100, (), 1)], {1: BALANCED})
    assert done.ahead(10 * SECOND_US, until_s * SECOND_US, ROLES) == pytest.approx(5)
