"""Trainings whose size changes in the replay of a journal: proposals, and shared machines."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import pytest

from motet.domain.units import SECOND_US
from motet.insight.replay_words import replay_notes
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from soak_cases import others_in_soak
from timed_trainings import TimedTraining, play_trainings

NOON_US = 1_700_000_000 * SECOND_US
TWO_MACHINES = ClusterDeclared(("m0", "m1"), (4, 4))
THREE_MACHINES = ClusterDeclared(("m0", "m1", "m2"), (2, 2, 2))
SETTINGS = {"harmony": {"check_s": "5"}, "tiresias-las": {"thresholds": "60"}}

_TRAINING = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}
SELF_SIZED = {**_TRAINING, "auto": True, "workers": {"min": 1, "max": 4}, "servers": 1}
ELASTIC = {**_TRAINING, "workers": {"min": 1, "max": 4}, "servers": 1}
ON_MACHINES = {**_TRAINING, "machines": "any"}
COMMAND = {"name": "cmd", "run": "true", "workdir": "/"}


def epoch_s(workers: int, servers: int) -> float:
    """Half of the work is divided among the workers."""
    del servers
    return 1 + 1 / workers


GAIN = {workers: 1 - epoch_s(workers, 1) / epoch_s(1, 1) for workers in (2, 3, 4)}
PROPOSING = [
    TimedTraining(0, SELF_SIZED, 90, epoch_s, proposals={4: (4, 1, GAIN[4])}),
    TimedTraining(5, SELF_SIZED, 60, epoch_s, proposals={6: (2, 1, GAIN[2])}),
    TimedTraining(11, {**COMMAND, "processes": 3}, 1, lambda *_: 50.0),
    TimedTraining(40, SELF_SIZED, 70, epoch_s, proposals={4: (3, 1, GAIN[3])}),
    TimedTraining(75, {**COMMAND, "processes": 2}, 1, lambda *_: 35.0),
]
SHARING = [
    TimedTraining(0, ON_MACHINES, 60, comp_s=0.8, comm_s=0.1),
    TimedTraining(3, ON_MACHINES, 60, comp_s=0.3, comm_s=0.5),
    TimedTraining(5, ON_MACHINES, 50, comp_s=0.4, comm_s=0.4),
    TimedTraining(40, ON_MACHINES, 30, comp_s=0.2, comm_s=0.3),
]
RESIZED = [TimedTraining(20 * place, ELASTIC, 60, epoch_s) for place in range(4)]


def at(second: float) -> int:
    return NOON_US + round(second * SECOND_US)


def report_of(
    trainings: Sequence[TimedTraining],
    cluster: ClusterDeclared,
    in_force: str,
    wanted: str,
    since_s: float | None = None,
    until_s: float = 1e6,
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        address = f"{home}/journal.db"
        policy = ChoosePolicy(in_force, SETTINGS.get(in_force, {}))
        play_trainings(address, cluster, policy, trainings, NOON_US, at(until_s))
        since_us = None if since_s is None else at(since_s)
        journal = FollowedJournal(address)
        report = what_if(journal, WhatIfQuestion(wanted, SETTINGS.get(wanted, {}), since_us))
        journal.close()
        return report


def mean_jct_s(report: dict[str, Any], run: int) -> float:
    found: float = report["runs"][run]["jct_s"]["mean"]
    return found


@pytest.mark.parametrize("since_s", others_in_soak([None, 20], [20]))
@pytest.mark.parametrize(
    ("trainings", "cluster", "policy"),
    others_in_soak(
        [
            (PROPOSING, TWO_MACHINES, "fifo"),
            (PROPOSING, TWO_MACHINES, "best-effort"),
            (PROPOSING, TWO_MACHINES, "tiresias-las"),
            (PROPOSING, TWO_MACHINES, "fair"),
            (RESIZED, TWO_MACHINES, "fair"),
            (SHARING, THREE_MACHINES, "harmony"),
            (SHARING, THREE_MACHINES, "fifo"),
            (SHARING, THREE_MACHINES, "fair"),
        ],
        [(SHARING, THREE_MACHINES, "harmony")],
    ),
)
def test_the_replay_under_the_policy_in_force_has_the_mean_that_was_measured(
    trainings: Sequence[TimedTraining],
    cluster: ClusterDeclared,
    policy: str,
    since_s: float | None,
) -> None:
    """Stops wait for the end of an epoch, which the simulator does not know."""
    report = report_of(trainings, cluster, policy, "fifo", since_s)
    assert report["jobs_compared"] == len(trainings)
    assert report["replay_error"] == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(
    ("trainings", "cluster", "in_force", "wanted"),
    others_in_soak(
        [
            (PROPOSING, TWO_MACHINES, "fifo", "best-effort"),
            (PROPOSING, TWO_MACHINES, "best-effort", "tiresias-las"),
            (SHARING, THREE_MACHINES, "harmony", "fifo"),
            (SHARING, THREE_MACHINES, "harmony", "fair"),
            (SHARING, THREE_MACHINES, "fifo", "harmony"),
        ],
        [(SHARING, THREE_MACHINES, "harmony", "fifo")],
    ),
)
def test_another_policy_would_have_had_the_mean_that_it_has_on_the_live_cluster(
    trainings: Sequence[TimedTraining], cluster: ClusterDeclared, in_force: str, wanted: str
) -> None:
    would = mean_jct_s(report_of(trainings, cluster, in_force, wanted), 2)
    really = mean_jct_s(report_of(trainings, cluster, wanted, wanted), 0)
    assert would == pytest.approx(really, rel=0.05)


PERMITTING = {**ON_MACHINES, "allow_async": True}
LONE = [
    TimedTraining(0, PERMITTING, 100, comp_s=0.9, comm_s=0.3),
    TimedTraining(3, PERMITTING, 4, comp_s=0.3, comm_s=0.5),
]
"""The first one is alone, and asynchronous, after the end of the other."""


@pytest.mark.parametrize(  # At 20 s it is being moved.
    "since_s", others_in_soak([None, 20, 100], [20])
)
def test_a_job_that_was_asynchronous_is_so_in_a_replay_with_the_same_policy(
    since_s: float | None,
) -> None:
    with tempfile.TemporaryDirectory() as home:
        journal = played(home, {"check_s": "5", "async_efficiency": "0.95"})
        since_us = None if since_s is None else at(since_s)
        settings = {"check_s": "5"}
        report = what_if(journal, WhatIfQuestion("harmony", settings, since_us))
        journal.close()
    assert report["replay_error"] == pytest.approx(0, abs=0.05)
    same, other = mean_jct_s(report, 1), mean_jct_s(report, 2)
    if since_s is None:  # Without the mode it takes longer; a job that stays keeps its own.
        assert other > 1.2 * same
    else:
        assert other == pytest.approx(same, rel=0.05)


def played(home: str, settings: dict[str, str]) -> FollowedJournal:
    address = f"{home}/journal.db"
    play_trainings(address, THREE_MACHINES, ChoosePolicy("harmony", settings), LONE, NOON_US)
    return FollowedJournal(address)


@pytest.mark.soak
@pytest.mark.parametrize("wanted", others_in_soak(["fifo", "tetris", "yarn-cs"], ["fifo"]))
def test_trainings_that_share_machines_at_the_start_part_under_another_policy(wanted: str) -> None:
    """Some of them wait, also under a policy that preempts no job."""
    report = report_of(SHARING, THREE_MACHINES, "harmony", wanted, since_s=30)
    assert report["runs"][2]["finished"] == len(SHARING)
    assert mean_jct_s(report, 2) > mean_jct_s(report, 1)


def test_proposals_are_made_and_granted_again() -> None:
    report = report_of(PROPOSING, TWO_MACHINES, "best-effort", "best-effort")
    measured, replayed, _ = report["runs"]
    assert measured["resizes"] == replayed["resizes"] > 0
    assert (report["resized_jobs"], report["proposals"], report["elastic_jobs"]) == (3, 3, 0)
    assert [each["processes"] for each in report["job_list"]] == [5, 2, 3, 4, 2]
    notes = [*replay_notes(report)]
    assert any(
        "3 trainings of changing size" in note and "3 sizes proposed" in note for note in notes
    )


def test_sizes_at_which_no_speed_was_measured_are_counted() -> None:
    report = report_of(PROPOSING[:2], TWO_MACHINES, "best-effort", "best-effort")
    assert report["estimated_jobs"] == 0
    narrow = ClusterDeclared(("m0",), (5,))
    report = report_of(PROPOSING[:2], narrow, "fifo", "fair")
    assert report["estimated_jobs"] > 0
    assert any("no speed was measured" in note for note in replay_notes(report))


def test_an_elastic_training_that_had_one_size_keeps_it_and_is_counted() -> None:
    report = report_of(RESIZED[:1], TWO_MACHINES, "fifo", "fair")
    assert (report["elastic_jobs"], report["resized_jobs"]) == (1, 0)
    assert report["runs"][2]["resizes"] == 0
    assert mean_jct_s(report, 2) == mean_jct_s(report, 0)


def test_trainings_on_machines_that_reported_nothing_are_counted() -> None:
    slow = [TimedTraining(second, ON_MACHINES, 1, lambda *_: 20.0) for second in (0, 3, 5, 6)]
    report = report_of(slow, THREE_MACHINES, "harmony", "harmony")
    assert (report["machine_jobs"], report["unprofiled_jobs"]) == (4, 4)
    assert any("reported no COMP and COMM" in note for note in replay_notes(report))


def test_jobs_that_have_not_ended_go_on_at_the_speed_of_their_size() -> None:
    report = report_of(PROPOSING, TWO_MACHINES, "best-effort", "best-effort", until_s=60)
    assert report["jobs_predicted"] == report["jobs"] == 4
    assert all(each["in_force_jct_s"] for each in report["job_list"])
