"""The jobs whose GPUs were the last to become free before a wait ended."""

from __future__ import annotations

import pytest

from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.insight.cluster_wait import ClusterWait
from motet.insight.holders.last_released import with_last_released
from motet.insight.holders.meanwhile import HeldGpus
from motet.insight.sentences import Rules, account
from motet.insight.story import JobRecord, Story
from motet.insight.story_event import OtherJob, StoryEvent

BLOCKED = Wait.TOO_FEW_GPUS.key


def told(*holdings: HeldGpus, reason: str = BLOCKED, to_s: int | None = 20) -> str:
    """Of a job that waits behind job 1 from 10 s on, and starts at 20 s."""
    others = (OtherJob("1", 4),)
    waits = StoryEvent(
        at(10), "wait", 2, reason, free_gpus=0, others=others, others_total=1, place=1
    )
    starts = [] if to_s is None else [StoryEvent(at(to_s), "start", 2, machines={"m0": 2})]
    story = Story.of(JobRecord("9", "", "", 2, at(10), None), [waits, *starts], at(30))
    return account(with_last_released(story, holdings).chapters[0].because, Rules())


def at(time_s: float) -> int:
    return round(time_s * SECOND_US)


def test_the_last_jobs_before_the_start_are_told_beside_those_of_the_beginning() -> None:
    assert told(
        HeldGpus("1", 4, 0, at(12)),
        HeldGpus("2", 1, at(12), at(20)),
        HeldGpus("3", 3, at(12), at(20)),
        HeldGpus("4", 1, at(12), at(21)),
    ) == (
        "needs 2 GPUs, none was free at its turn (place 1 in line); ran ahead of it at first: "
        "job 1 (4 GPUs); the last GPUs before its start came from job 2 (1 GPU) and job 3 (3 GPUs)"
    )


def test_gpus_that_were_free_for_a_while_are_told_with_the_time() -> None:
    assert told(HeldGpus("1", 4, 0, at(17))).endswith("came from job 1 (4 GPUs), 3 s earlier")


def test_gpus_are_released_when_they_are_given_away_although_processes_still_stop() -> None:
    preempted = HeldGpus("5", 2, 0, at(24), taken_us=at(20))
    assert told(HeldGpus("1", 4, 0, at(12)), preempted).endswith("came from job 5 (2 GPUs)")


def test_a_job_that_gets_other_gpus_has_released_only_the_difference() -> None:
    moved = HeldGpus("1", 4, 0, at(15)), HeldGpus("1", 3, at(15), None)
    assert told(*moved).endswith("came from job 1 (1 GPU), 5 s earlier")
    assert "before its start" not in told(
        HeldGpus("1", 4, 0, at(15)), HeldGpus("1", 4, at(15), None)
    )


@pytest.mark.parametrize(
    ("holding", "options"),
    [
        (HeldGpus("1", 4, 0, at(9)), {}),
        (HeldGpus("1", 4, 0, at(21)), {}),
        (HeldGpus("1", 4, 0, None), {}),
        (HeldGpus("9", 4, 0, at(15)), {}),
        (HeldGpus("1", 4, 0, at(15)), {"to_s": None}),
        (HeldGpus("1", 4, 0, at(15)), {"reason": ClusterWait.DEPENDENCY.key}),
    ],
)
def test_nothing_is_told_where_no_other_job_ended_the_wait(
    holding: HeldGpus, options: dict[str, object]
) -> None:
    """It ended before or after the wait, is the job itself, or the wait was for something else."""
    assert "before its start" not in told(holding, **options)  # type: ignore[arg-type]


def test_nothing_is_told_where_jobs_shared_gpus_since_others_may_hold_them_still() -> None:
    host, guest = HeldGpus("1", 4, 0, at(15)), HeldGpus("2", 4, at(5), None, is_shared=True)
    assert "before its start" in told(host)
    assert "before its start" not in told(host, guest)
    earlier = HeldGpus("2", 4, at(5), at(9), is_shared=True)
    assert "before its start" in told(host, earlier)
