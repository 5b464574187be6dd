"""What the next server takes over of the predictions before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from motet.interfaces.server.predictions.kept_predictions import FILE, KeptPredictions
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import PolicyChosen
from motet.live.master.state import LiveState

MADE_US = 1_700_000_000_000_000
POLICY = ("tiresias-las", {"thresholds": "30"})
START = {"attempts": 0, "low_s": 1.0, "median_s": 2.0, "high_s": 3.0, "unknown_because": ""}


def job(number: int, submitted_us: int = MADE_US - 1, **more: Any) -> LiveJob:
    spec = job_spec({"name": "job", "run": "true", "workdir": "/"})
    return LiveJob(number, spec, "ann", submitted_us, **more)


def state_of(*jobs: LiveJob, policy: tuple[str, Mapping[str, str]] = POLICY) -> LiveState:
    state = LiveState()
    state.policies = [(0, PolicyChosen(*policy))]
    state.jobs = {each.number: each for each in jobs}
    return state


def answer(**starts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "starts": {name.removeprefix("job_"): start for name, start in starts.items()},
        "ends": {"1": [1.0, 2.0, None], "3": [1.0, 2.0, None]},
        "made_us": MADE_US,
        "coverage": {"waits": 4},
    }


def test_starts_of_the_same_waits_and_ends_of_jobs_that_have_not_ended_are_taken_over(
    tmp_path: Path,
) -> None:
    kept = KeptPredictions(tmp_path)
    another_attempt = {**START, "attempts": 1}
    kept.keep(
        answer(job_1=START, job_2=another_attempt, job_3=START, job_4=START, job_5=START), POLICY
    )
    jobs = (
        job(1),
        job(2),
        job(3, end=JobState.SUCCEEDED),
        job(4, submitted_us=MADE_US + 1),  # A backup was restored, and the number given again.
        job(5, is_suspended=True),
    )
    assert kept.read(state_of(*jobs)) == {
        "starts": {"1": START},
        "ends": {"1": [1.0, 2.0, None]},
        "made_us": MADE_US,
        "coverage": {"waits": 4},
    }


def test_predictions_of_another_policy_do_not_hold(tmp_path: Path) -> None:
    kept = KeptPredictions(tmp_path)
    assert kept.read(state_of(job(1))) is None
    kept.keep(answer(job_1=START), POLICY)
    assert kept.read(state_of(job(1), policy=("tiresias-las", {}))) is None
    assert kept.read(state_of(job(1))) is not None


def test_the_file_is_closed_to_other_users(tmp_path: Path) -> None:
    KeptPredictions(tmp_path).keep(answer(), POLICY)
    assert [(each.name, each.stat().st_mode & 0o777) for each in tmp_path.iterdir()] == [
        (FILE, 0o600)
    ]


def test_a_damaged_file_is_logged_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_text('{"version": ')
    assert KeptPredictions(tmp_path).read(state_of()) is None
    assert [each.getMessage() for each in caplog.records] == ["predictions_unreadable"]


def test_a_file_that_cannot_be_written_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).mkdir()
    KeptPredictions(tmp_path).keep(answer(), POLICY)
    assert [each.getMessage() for each in caplog.records] == ["predictions_not_kept"]
    assert [each.name for each in tmp_path.iterdir()] == [FILE]
