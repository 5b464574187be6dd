"""Journals of real servers whose trainings were resized, or shared machines, are replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from live_server import running_server
from live_trainings import PROGRAM, assert_succeed
from motet.interfaces.client import LiveClient
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.interfaces.server_address import ServerAddress
from self_sized_training import SELF_SIZED
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak, pytest.mark.timeout(1800)]

LARGEST_ERROR = 0.25
"""Of the mean completion time, on a machine under any load; on an idle one it is below 0.05."""

ON_MACHINES = {
    "name": "fit",
    "app": PROGRAM,
    "data": "digits",
    "workdir": "/",
    "machines": "any",
    "set": {"tol": 0},
    "checkpoint_every": 1,
}


def report_of(folder: Path, policy: str) -> dict[str, Any]:
    journal = FollowedJournal(str(folder / "journal.db"))
    report = what_if(journal, WhatIfQuestion(policy))
    journal.close()
    return report


def test_proposals_that_were_granted_are_replayed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with running_server(folder, "--cluster", "1x8") as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        jobs = [client.submit({**SELF_SIZED, "epochs": 200})["id"]]
        wait_until(lambda: len(client.job(jobs[0])["attempt_list"]) > 1)
        jobs.append(client.submit({**SELF_SIZED, "epochs": 150})["id"])
        command = {"name": "cmd", "run": "sleep 20", "processes": 6, "workdir": "/"}
        jobs.append(client.submit(command)["id"])
        assert_succeed(client, jobs)
    report = report_of(folder, "fair")
    assert report["runs"][0]["resizes"] > 0
    assert report["runs"][1]["resizes"] > 0
    assert report["proposals"] > 0
    assert abs(report["replay_error"]) < LARGEST_ERROR


def test_groups_of_harmony_are_replayed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    options = ("--cluster", "2x1", "--policy", "harmony", "--set", "check_s=5")
    with running_server(folder, *options) as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        jobs = []
        for epoch_s, epochs in ((1, 30), (0.5, 50), (0.8, 30)):
            envs = {"HELD_UNTIL": "/", "EPOCH_S": str(epoch_s)}
            jobs.append(client.submit({**ON_MACHINES, "epochs": epochs, "envs": envs})["id"])
        assert_succeed(client, jobs)
    report = report_of(folder, "fifo")
    assert (report["machine_jobs"], report["unprofiled_jobs"]) == (3, 0)
    assert abs(report["replay_error"]) < LARGEST_ERROR
