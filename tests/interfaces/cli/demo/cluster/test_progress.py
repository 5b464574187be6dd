"""What the demo says of its jobs, from the server's answers."""

from __future__ import annotations

from typing import Any

from motet.interfaces.cli.demo.cluster.progress import DemoProgress, unix_seconds


def job(number: int, state: str, attempts: int = 1) -> dict[str, Any]:
    return {
        "id": str(number),
        "name": f"job-{number}",
        "state": state,
        "processes": number,
        "attempts": attempts,
        "reason": "exit 1",
    }


def test_every_change_of_a_job_is_told_once() -> None:
    progress = DemoProgress(2)

    told = [
        progress.update([job(1, "PENDING")], []),
        progress.update([job(1, "RUNNING"), job(2, "PENDING")], []),
        progress.update([job(1, "PREEMPTED"), job(2, "RUNNING")], []),
        progress.update([job(1, "PREEMPTED"), job(2, "FAILED")], []),
        progress.update([job(1, "RUNNING", attempts=2), job(2, "FAILED")], []),
        progress.update([job(1, "SUCCEEDED", attempts=2), job(2, "FAILED")], []),
    ]

    assert told == [
        ["job-1 arrives: 1 slot"],
        ["job-1 runs", "job-2 arrives: 2 slots"],
        ["job-1 is preempted", "job-2 runs"],
        ["job-2 has failed: exit 1"],
        ["job-1 runs again"],
        ["job-1 has succeeded"],
    ]
    assert progress.events == [
        "job-2 runs",
        "job-2 has failed: exit 1",
        "job-1 runs again",
        "job-1 has succeeded",
    ]


def test_the_demo_ends_when_all_its_jobs_were_submitted_and_have_ended() -> None:
    progress = DemoProgress(2)

    progress.update([job(1, "SUCCEEDED")], [])
    assert not progress.are_all_ended
    progress.update([job(1, "SUCCEEDED"), job(2, "RUNNING")], [])
    assert not progress.are_all_ended
    progress.update([job(1, "SUCCEEDED"), job(2, "CANCELLED")], [])
    assert progress.are_all_ended


def test_moments_are_unix_seconds() -> None:
    assert unix_seconds("1970-01-01T00:01:00.500000+00:00") == 60.5
    assert unix_seconds(None) is None
