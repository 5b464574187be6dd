"""What a server shows of predictions, and when it asks for new ones."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from motet.domain.units import SECOND_US
from motet.interfaces.server.predictions.kept_predictions import KeptPredictions
from motet.interfaces.server.predictions.pacing import Pacing
from motet.interfaces.server.predictions.start_predictions import StartPredictions
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import ClusterReached, Fact, PolicyChosen
from motet.live.master.state import LiveState

WITHIN_S = 60.0
"""Ends a test that would hang."""
NO_PAUSE = (0.0, 0.0, 60.0)
LONG_PAUSES = (1000.0, 1000.0, 1000.0)
Begin = Callable[[tuple[float, float, float]], "Shown"]


class ScriptedFollower:
    """Answers what a test puts into `answers`, after it has noted the question in `asked`."""

    def __init__(self) -> None:
        self.asked: queue.Queue[int] = queue.Queue()
        self.answers: queue.Queue[Mapping[str, Any]] = queue.Queue()

    def ask(self, now_us: int) -> Mapping[str, Any]:
        self.asked.put(now_us)
        return self.answers.get(timeout=WITHIN_S)

    def close(self) -> None:
        self.answers.put({"failed": "closed", "cpu_s": 0.0})

    def wait(self) -> None:
        pass


class Shown:
    """Predictions of a scripted follower. `rounds`: of those that are over."""

    def __init__(self, pauses_s: tuple[float, float, float], folder: Path) -> None:
        self.follower, pacing = ScriptedFollower(), Pacing(*pauses_s)
        self.rounds: queue.Queue[None] = queue.Queue()
        self.predictions = StartPredictions(
            self.follower, lambda: self.rounds.put(None), KeptPredictions(folder), pacing
        )
        self.predictions.start()

    def answer(self, **starts_s: float | None) -> None:
        """A round predicts that jobs start exactly after some time: `job_1=60.0`; None:
        unknown."""
        now_us = self.follower.asked.get(timeout=WITHIN_S)
        starts = {
            job.removeprefix("job_"): {
                "attempts": 0,
                **dict.fromkeys(("low_s", "median_s", "high_s"), start_s),
                "unknown_because": "",
            }
            for job, start_s in starts_s.items()
        }
        coverage = {"waits": 1, "known": 0}
        answer = {"starts": starts, "made_us": now_us, "failed": "", "coverage": coverage}
        self._end_round(answer)

    def fail(self, failure: str) -> None:
        self.follower.asked.get(timeout=WITHIN_S)
        self._end_round({"failed": failure})

    def choose_policy(self) -> None:
        self.record(PolicyChosen("srtf", {}))

    def record(self, fact: Fact) -> None:
        class Step:
            facts = (fact,)

        self.predictions.stepped([Step()], [], LiveState())

    def of(self, job: int, later_s: float = 0.0) -> dict[str, Any] | None:
        now_us = time.time_ns() // 1000
        return self.predictions.of(job, now_us + round(later_s * SECOND_US))

    def _end_round(self, answer: Mapping[str, Any]) -> None:
        usual = {"starts": {}, "ends": {}, "because": "", "coverage": None, "cpu_s": 0.0}
        self.follower.answers.put({**usual, **answer})
        self.rounds.get(timeout=WITHIN_S)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    found: list[Shown] = []

    def with_pauses(pauses_s: tuple[float, float, float]) -> Shown:
        found.append(Shown(pauses_s, tmp_path))
        return found[-1]

    yield with_pauses
    for each in found:
        each.predictions.close()


def job(number: int, **more: Any) -> LiveJob:
    return LiveJob(
        number, job_spec({"name": "job", "run": "true", "workdir": "/"}), "ann", 0, **more
    )


def test_a_waiting_job_is_not_predicted_at_first(begin: Begin) -> None:
    shown = begin(LONG_PAUSES)
    shown.predictions.follow([job(1), job(2, is_held=True), job(3, end=JobState.SUCCEEDED)])
    start = shown.of(1)
    assert start is not None
    assert (start["made"], start["unknown_because"]) == (None, "not predicted yet")
    assert (shown.of(2), shown.of(3)) == (None, None)
    starts, _ = shown.predictions.ahead(time.time_ns() // 1000)
    assert starts.keys() == {1}


def test_starts_that_are_not_known_are_told_at_little_cost(begin: Begin) -> None:
    """Of ten thousand jobs that wait, at each request of the timeline."""
    shown = begin(LONG_PAUSES)
    shown.predictions.follow([job(number) for number in range(1, 5)])
    starts, _ = shown.predictions.ahead(time.time_ns() // 1000)
    assert starts == {number: shown.of(number) for number in range(1, 5)}
    assert len({id(start) for start in starts.values()}) == 1


def test_a_predicted_range_passes(begin: Begin) -> None:
    shown = begin(NO_PAUSE)
    shown.predictions.follow([job(1)])
    shown.answer(job_1=50.0)
    soon, late = shown.of(1), shown.of(1, later_s=80.0)
    assert soon is not None
    assert late is not None
    assert soon["made"] is not None
    assert 0.0 < soon["high_s"] <= 50.0
    assert (late["high_s"], late["unknown_because"]) == (None, "its range has passed")
    assert late["overdue_s"] >= 30.0


def test_a_start_that_should_have_been_is_predicted_anew_though_no_job_changes(
    begin: Begin,
) -> None:
    shown = begin(NO_PAUSE)
    shown.predictions.follow([job(1)])
    shown.answer(job_1=0.0)
    shown.answer(job_1=1000.0)
    start = shown.of(1)
    assert start is not None
    assert start["high_s"] > 0.0


def test_another_policy_is_predicted_without_a_pause(begin: Begin) -> None:
    shown = begin(LONG_PAUSES)
    shown.predictions.follow([job(1)])
    shown.choose_policy()
    shown.answer(job_1=50.0)
    shown.choose_policy()
    start = shown.of(1)
    assert start is not None
    assert start["unknown_because"] == "not predicted yet"
    shown.answer(job_1=70.0)
    start = shown.of(1)
    assert start is not None
    assert start["high_s"] > 50.0


def test_an_answer_under_the_former_policy_is_not_shown(begin: Begin) -> None:
    shown = begin(NO_PAUSE)
    shown.predictions.follow([job(1)])
    asked_us = shown.follower.asked.get(timeout=WITHIN_S)
    shown.choose_policy()
    shown.follower.asked.put(asked_us)
    shown.answer(job_1=50.0)
    start = shown.of(1)
    assert start is not None
    assert start["high_s"] is None
    shown.answer(job_1=70.0)
    start = shown.of(1)
    assert start is not None
    assert start["high_s"] is not None


def test_rounds_that_fail_alike_are_logged_once(
    begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "motet.predictions")
    shown = begin(NO_PAUSE)
    shown.predictions.follow([job(1)])
    shown.fail("ValueError: no")
    start = shown.of(1)
    assert start is not None
    assert "the log of the server says why" in start["unknown_because"]
    shown.fail("ValueError: no")
    shown.fail("ValueError: something else")
    shown.answer(job_1=50.0)
    start = shown.of(1)
    assert start is not None
    assert start["high_s"] is not None
    assert [record.fields["error"] for record in caplog.records] == [
        "ValueError: no",
        "ValueError: something else",
    ]


def test_the_prediction_of_a_wait_that_is_over_is_not_that_of_the_next_one(begin: Begin) -> None:
    shown = begin(NO_PAUSE)
    shown.predictions.follow([job(1)])
    shown.answer(job_1=50.0)
    shown.predictions.follow([job(1, is_suspended=True)])
    assert shown.of(1) is None
    shown.answer()
    shown.predictions.follow([job(1)])
    start = shown.of(1)
    assert start is not None
    assert start["unknown_because"] == "not predicted yet"


def state_with(*jobs: LiveJob) -> LiveState:
    state = LiveState()
    state.jobs = {each.number: each for each in jobs}
    return state


def test_the_next_server_shows_what_was_predicted_until_its_first_round(begin: Begin) -> None:
    before = begin(NO_PAUSE)
    before.predictions.follow([job(1)])
    before.answer(job_1=1000.0)

    after = begin(NO_PAUSE)
    after.predictions.began(state_with(job(1), job(2)))
    after.predictions.follow([job(1), job(2)])
    start, other = after.of(1), after.of(2)
    assert start is not None
    assert other is not None
    assert (start["high_s"], start["made"]) != (None, None)
    assert other["unknown_because"] == "not predicted yet"
    assert after.predictions.coverage == {"waits": 1, "known": 0}
    after.answer(job_1=2000.0, job_2=2000.0)
    start = after.of(1)
    assert start is not None
    assert start["high_s"] > 1000.0


def test_the_next_server_predicts_once_while_nothing_waits(begin: Begin) -> None:
    ended = job(1, end=JobState.SUCCEEDED)
    shown = begin(NO_PAUSE)
    shown.predictions.began(state_with(ended))
    shown.predictions.follow([ended])
    shown.answer()
    assert shown.predictions.coverage is not None


def test_starts_are_predicted_anew_when_the_cluster_answers_again(begin: Begin) -> None:
    shown = begin(NO_PAUSE)
    shown.predictions.follow([job(1)])
    shown.answer(job_1=None)  # As while a cluster is out of reach.
    shown.record(ClusterReached(""))
    start = shown.of(1)
    assert start is not None
    assert start["unknown_because"] == "not predicted yet"
    shown.answer(job_1=50.0)
    start = shown.of(1)
    assert start is not None
    assert start["high_s"] is not None
