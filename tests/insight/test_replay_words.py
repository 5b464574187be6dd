"""Sentences about a replay of the journal."""

from __future__ import annotations

import pytest

from motet.insight.replay_words import replay_notes

RUN = {"policy": "fifo", "settings": {}, "finished": 9, "knows_durations": False}


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
    report = {
        "runs": [RUN, RUN, RUN],
        "replay_error": None,
        "jobs": 9,
        "jobs_compared": 9,
        "jobs_predicted": 3,
        "jobs_assumed": assumed,
        "elastic_jobs": 0,
        "policy_changes": 0,
    }
    assert list(replay_notes(report)) == [told]
