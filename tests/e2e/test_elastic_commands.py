"""PyTorch workers of a live job join and leave with its slots, while the others train on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from pool_job import pool_job
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    options = ("--cluster", "2x2", "--policy", "fair", "--aggregators", "4")
    with running_server(tmp_path / "state", *options) as found:
        yield found


class ElasticTraining:
    """A live job of one to four PyTorch workers, which trains until it is told to end."""

    def __init__(self, client: LiveClient, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        spec = pool_job("elastic_torch_program.py", folder, 4)
        elastic = {"min_processes": 1, "aggregation": {"servers": 1}, "duration_s": 900}
        self.job: str = client.submit({**spec, **elastic})["id"]

    def worker(self, rank: int) -> tuple[int, int]:
        """The process of a rank, and the steps of the job that it has written; 0, 0: none yet."""
        path = self.folder / f"worker-{rank}"
        pid, steps = path.read_text().split() if path.exists() else (0, 0)
        return int(pid), int(steps)

    def trains(self, *ranks: int) -> None:
        """Wait until these workers have trained further."""
        before = {rank: self.worker(rank)[1] for rank in ranks}
        wait_until(lambda: all(self.worker(rank)[1] > before[rank] + 5 for rank in ranks))

    def has_left(self, rank: int) -> bool:
        """Whether a worker left between two steps."""
        return (self.folder / f"left-{rank}").exists()

    def left_after(self, rank: int) -> int:
        """The steps of the model when a worker left."""
        return int((self.folder / f"left-{rank}").read_text())

    def began_with(self, attempt: int) -> int:
        """The steps that the model had done before an attempt; waits for its first worker."""
        path = self.folder / f"began-{attempt}"
        wait_until(path.exists)
        return int(path.read_text())


def other_job(client: LiveClient) -> str:
    """A job that needs two slots until it is cancelled."""
    values = {"name": "other", "run": "sleep 600", "processes": 2, "workdir": "/"}
    job: str = client.submit({**values, "duration_s": 60})["id"]
    return job


def sizes(client: LiveClient, job: str) -> list[tuple[int, str | None]]:
    """Slots and ends of the attempts."""
    attempts: list[dict[str, Any]] = client.job(job)["attempt_list"]
    return [(sum(each["placement"].values()), each["stop_cause"]) for each in attempts]


@pytest.mark.soak
def test_workers_leave_and_join_while_the_others_train(server: LiveServer, tmp_path: Path) -> None:
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        training = ElasticTraining(client, tmp_path / "job")
        training.trains(0, 1, 2, 3)
        first = [training.worker(rank) for rank in range(4)]
        other = other_job(client)
        wait_until(lambda: client.job(other)["state"] == "RUNNING")
        stayed = [rank for rank in range(4) if not training.has_left(rank)]
        assert len(stayed) == 2
        assert 0 in stayed
        training.trains(*stayed)
        client.change(other, "cancel")
        training.trains(4, 5)
        joined = [training.worker(rank) for rank in (4, 5)]
        assert min(steps for _, steps in joined) > max(steps for _, steps in first)
        assert [training.worker(rank)[0] for rank in stayed] == [first[rank][0] for rank in stayed]
        (training.folder / "end").touch()
        assert ended(client, training.job)["state"] == "SUCCEEDED"
        assert sizes(client, training.job) == [(4, "resized"), (2, "resized"), (4, None)]
    values = [torch.load(training.folder / f"values-{rank}.pt") for rank in (*stayed, 4, 5)]
    for found in values[1:]:
        torch.testing.assert_close(found, values[0], rtol=0, atol=0)


@pytest.mark.soak
@pytest.mark.parametrize("policy", ["srtf", "tiresias-las"])
def test_a_preempted_training_goes_on_with_the_steps_of_its_checkpoint(
    tmp_path: Path, policy: str
) -> None:
    """These policies resize no job: all workers leave and come back."""
    options = ("--cluster", "2x2", "--policy", policy, "--aggregators", "4")
    options += ("--set", "thresholds=8", "--set", "quantum_s=1") if policy != "srtf" else ()
    with running_server(tmp_path / "state", *options) as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        training = ElasticTraining(client, tmp_path / "job")
        training.trains(0, 1, 2, 3)
        other = other_job(client)
        wait_until(lambda: client.job(other)["state"] == "RUNNING")
        done = training.left_after(0)
        client.change(other, "cancel")
        assert training.began_with(2) == done > 0
        training.trains(0, 1, 2, 3)
        (training.folder / "end").touch()
        assert ended(client, training.job)["state"] == "SUCCEEDED"
    values = [torch.load(training.folder / f"values-{rank}.pt") for rank in range(4)]
    for found in values[1:]:
        torch.testing.assert_close(found, values[0], rtol=0, atol=0)


@pytest.mark.soak
def test_a_resize_goes_on_when_server_and_launcher_are_killed(
    server: LiveServer, tmp_path: Path
) -> None:
    client = LiveClient(ServerAddress.find(folder=server.folder))
    training = ElasticTraining(client, tmp_path / "job")
    training.trains(0, 1, 2, 3)
    other = other_job(client)
    server.kill()
    for pid in server.launchers():
        os.kill(pid, signal.SIGKILL)
    with server.start() as now:
        wait_until(lambda: now.job(other)["state"] == "RUNNING")
        training.trains(0)
        now.change(other, "cancel")
        training.trains(4, 5)
        (training.folder / "end").touch()
        assert ended(now, training.job)["state"] == "SUCCEEDED"
        assert {slots for slots, _ in sizes(now, training.job)} == {4, 2}
