"""What became of the demo's jobs, measured and under the other policy."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from motet.interfaces.cli.demo.cluster.results import DemoResults
from motet.interfaces.cli.demo.cluster.summary import cluster_summary


def moment(seconds: int) -> str:
    return f"2026-01-01T00:00:{seconds:02}+00:00"


def page(number: int, ended: int, *attempts: tuple[int | None, int, str | None]) -> dict[str, Any]:
    return {
        "id": str(number),
        "name": f"job-{number}",
        "state": "SUCCEEDED",
        "processes": 2,
        "submitted_at": moment(0),
        "ended_at": moment(ended),
        "attempt_list": [
            {
                "running_at": None if began is None else moment(began),
                "ended_at": moment(end),
                "stop_cause": cause,
                "outcome": "succeeded" if end == ended else "stopped",
                "placement": {"m0": 1},
            }
            for began, end, cause in attempts
        ],
    }


def replay(*jct_s: float | None) -> dict[str, Any]:
    return {
        "replay_error": -0.02,
        "runs": [{"policy": "tiresias-las"}, {"policy": "tiresias-las"}, {"policy": "fifo"}],
        "job_list": [{"id": str(n), "jct_s": each} for n, each in enumerate(jct_s, start=1)],
    }


PAGES = [page(1, 30, (2, 10, "preempted"), (None, 12, "preempted"), (20, 30, None)), page(2, 10)]


def test_running_time_is_that_of_all_attempts_that_ran() -> None:
    first, second = DemoResults.of("tiresias-las", PAGES, replay(40.0, 40.0), 60.0).jobs

    assert (first.jct_s, first.running_s, first.preemptions) == (30.0, 18.0, 2)
    assert (second.jct_s, second.running_s, second.preemptions) == (10.0, 0.0, 0)


def test_a_job_that_finished_while_it_was_being_stopped_was_not_preempted() -> None:
    done = page(1, 30, (2, 10, "preempted"), (20, 30, "preempted"))
    (job,) = DemoResults.of("tiresias-las", [done], replay(40.0), 60.0).jobs
    assert job.preemptions == 1


def test_the_means_are_over_the_same_jobs() -> None:
    results = DemoResults.of("tiresias-las", PAGES, replay(40.0, 20.0), 60.0)

    assert (results.mean_jct_s, results.other_mean_jct_s) == (20.0, 30.0)
    assert DemoResults.of("tiresias-las", PAGES, replay(40.0, None), 60.0).other_mean_jct_s is None


def test_the_summary_compares_both_policies() -> None:
    console = Console(width=100, record=True)
    with console.capture() as screen:
        console.print(
            cluster_summary(DemoResults.of("tiresias-las", PAGES, replay(40.0, 20.0), 60.0))
        )

    text = screen.get()
    assert "under fifo" in text
    assert "tiresias-las 20 s   fifo 30 s (1.50x)" in text
    assert "its replay of tiresias-las is off by 2.0%" in text


@pytest.mark.parametrize(
    ("error", "other_s", "told", "not_told"),
    [
        (
            -0.11,
            20.0,
            ("fifo 30 s (1.50x)", "off by 11.0%", "more than usual"),
            "within this error",
        ),
        (0.6, 20.0, ("fifo 30 s", "off by 60.0%", "is within this error"), "1.50x"),
        (-0.02, 20.0, ("fifo 30 s (1.50x)", "off by 2.0%"), "more than usual"),
    ],
)
def test_the_summary_tells_no_difference_within_a_large_error(
    error: float, other_s: float, told: tuple[str, ...], not_told: str
) -> None:
    report = {**replay(40.0, other_s), "replay_error": error}
    console = Console(width=200, record=True)
    with console.capture() as screen:
        console.print(cluster_summary(DemoResults.of("tiresias-las", PAGES, report, 60.0)))
    text = " ".join(screen.get().split())
    assert [each in text for each in told] == [True] * len(told)
    assert not_told not in text


def test_time_beside_other_jobs_counts_once_and_only_on_a_common_machine() -> None:
    own, *others = (
        page(1, 30, (0, 20, None)),
        page(2, 30, (2, 10, None)),
        page(3, 30, (8, 12, None)),
    )
    elsewhere = page(4, 30, (0, 20, None))
    elsewhere["attempt_list"][0]["placement"] = {"m1": 1}
    results = DemoResults.of("harmony", [own, *others, elsewhere], None, 60.0)

    assert [job.shared_s for job in results.jobs] == [10.0, 8.0, 4.0, 0.0]
    console = Console(width=100, record=True)
    with console.capture() as screen:
        console.print(cluster_summary(results))
    assert "beside others" in screen.get()
    assert "50%" in screen.get()
