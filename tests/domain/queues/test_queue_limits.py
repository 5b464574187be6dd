"""What one job of a queue can get at most."""

from __future__ import annotations

import pytest

from motet.domain.queues.queue_limits import QueueLimits, Queues, largest_job, limit_words


@pytest.mark.parametrize(
    ("limits", "largest"),
    [
        ([QueueLimits(), QueueLimits()], 8),
        ([QueueLimits(2, borrow=1), QueueLimits()], 3),
        ([QueueLimits(2), QueueLimits(4)], 8),
        ([QueueLimits(2), QueueLimits(4, lend=1)], 5),
        ([QueueLimits(2, borrow=2), QueueLimits(6, lend=0)], 2),
        ([QueueLimits(6, borrow=0), QueueLimits(6, lend=0)], 6),
    ],
)
def test_the_largest_job_is_what_the_queue_holds_beside_what_others_keep(
    limits: list[QueueLimits], largest: int
) -> None:
    assert largest_job(0, limits, 8) == largest


def test_queues_of_a_file_follow_those_of_the_jobs() -> None:
    queues = Queues.with_limits(("a", "b"), {"b": QueueLimits(2), "c": QueueLimits(3, 1, 1)})
    assert queues.names == ("a", "b", "c")
    assert queues.are_limited
    assert limit_words(queues, 1) == "guarantee 2; other queues keep 2 GPUs"
    assert limit_words(queues, 2) == "guarantee 3, borrow 1"
    keeps_one = Queues(("a", "b"), (QueueLimits(), QueueLimits(2, lend=1)))
    assert limit_words(keeps_one, 0, "slots") == "guarantee 0; other queues keep 1 slot"
    assert not Queues.without_quotas(("a", "b")).are_limited
