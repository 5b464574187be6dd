"""Sentences about a replay of the journal."""

from __future__ import annotations

from typing import Any

import pytest

from motet.insight.replay_words import replay_notes, result_sentence, run_words

RUN = {"policy": "fifo", "settings": {}, "finished": 9, "knows_durations": False}
REPORT = {
    "runs": [RUN, RUN, RUN],
    "replay_error": None,
    "jobs": 9,
    "jobs_compared": 9,
    "jobs_predicted": 0,
    "elastic_jobs": 0,
    "policy_changes": 0,
}


@pytest.mark.parametrize(
    ("assumed", "told"),
    [
        (0, "3 jobs not ended yet: simulated with the median run time of jobs like them"),
        (
            2,
            "3 jobs not ended yet: simulated with the median run time of jobs like them; 2 of "
            "them, without such jobs, twice as long as until now",
        ),
    ],
)
def test_jobs_without_jobs_like_them_are_counted_if_there_are_any(assumed: int, told: str) -> None:
    report = {**REPORT, "jobs_predicted": 3, "jobs_assumed": assumed}
    assert list(replay_notes(report)) == [told]


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (1, "times are of the 1 job that has ended by itself"),
        (2, "times are of the 2 jobs that have ended by themselves"),
    ],
)
def test_jobs_that_have_ended_are_counted_if_others_have_not(ended: int, told: str) -> None:
    assert list(replay_notes({**REPORT, "jobs_compared": ended})) == [told]


def compared(measured_s: float, before_s: float, after_s: float, **more: Any) -> dict[str, Any]:
    """A report about fifo and what srtf would have done. Mean completion times."""
    means = measured_s, before_s, after_s
    runs = [{**RUN, "kind": "simulated", "jct_s": {"mean": mean}} for mean in means]
    runs[0]["kind"], runs[2]["policy"] = "measured", "srtf"
    return {"runs": runs, "replay_error": before_s / measured_s - 1, **more}


def test_the_result_of_an_exact_replay_is_the_difference_of_both_policies() -> None:
    sooner = (
        "Under srtf the mean completion time would be 20 s, 50.0% shorter than under fifo (40 s)."
    )
    assert result_sentence(compared(40, 40, 20)) == sooner
    assert "2.5 times as long as under fifo" in result_sentence(compared(40, 40, 100))
    assert "40 s, the same as under fifo (40 s)" in result_sentence(compared(40, 40, 40))


def test_a_replay_that_is_off_says_so_first_and_claims_nothing_within_its_error() -> None:
    assert result_sentence(compared(25, 46, 25)) == (
        "The replay of fifo is off by +84.0%: its mean completion time is 46 s, measured 25 s. "
        "Whether srtf would be better is not known: its mean, 25 s, is within this error."
    )
    said = result_sentence(compared(25, 30, 60))
    assert said.startswith("The replay of fifo is off by +20.0%: ")
    assert said.endswith("would be 1 min, 100.0% longer than under fifo (30 s).")


def test_a_difference_within_a_small_error_is_none() -> None:
    assert result_sentence(compared(40, 41, 40.5)) == (
        "Under srtf the mean completion time would be 40 s, as under fifo within the error of the "
        "replay, 2.5%."
    )


def test_an_unknown_error_is_told() -> None:
    report = {**compared(40, 40, 20), "replay_error": None}
    assert result_sentence(report).endswith("How far the replay is off is not known.")
    report["runs"][2]["finished"] = 8
    assert result_sentence(report) == ""


def test_policies_that_were_changed_are_named_together() -> None:
    policies = [{"policy": name, "settings": {}} for name in ("fifo", "drf", "fifo")]
    report = compared(40, 40, 20, policies=policies, policy_changes=2)
    assert [run_words(report, place) for place in range(3)] == [
        "3 policies in turn, measured",
        "3 policies in turn, simulated",
        "srtf, simulated",
    ]
    assert "shorter than under 3 policies in turn (40 s)" in result_sentence(report)
    counts = ("jobs", "jobs_compared", "jobs_predicted", "jobs_assumed", "elastic_jobs")
    notes = [*replay_notes({**report, **dict.fromkeys(counts, 0), "restart_s": 1})]
    assert notes[-1] == (
        "the policy was changed 2 times, and is at the same moments in the replay: fifo, then drf, "
        "then fifo; srtf stays in force"
    )


def test_jobs_that_never_start_are_named_with_the_reason() -> None:
    counts = ("jobs", "jobs_compared", "jobs_predicted", "jobs_assumed", "elastic_jobs")
    never = [
        {"title": "its queue is on hold", "jobs": 3, "first": ["4", "7"]},
        {"title": "machines drained, closed or gone", "jobs": 1, "first": ["9"]},
    ]
    report = compared(40, 40, 20, policy_changes=0, never_start=never)
    notes = [*replay_notes({**report, **dict.fromkeys(counts, 0), "restart_s": 1})]
    assert notes[-1] == (
        "jobs that never start in the replay, and count as unfinished: job 4, job 7 and 1 more "
        "(its queue is on hold); job 9 (machines drained, closed or gone)"
    )
