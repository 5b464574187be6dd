"""Elastic trainings on a real server are resized in the middle of training."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attempt_files import attempt_file
from held_training import EPOCHS_BEFORE, held_file
from live_server import LiveServer
from live_trainings import PROGRAM, ended, record_of, undisturbed
from motet.domain.errors import BadInput
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.log_reading import ProcessLog
from waiting import wait_until

pytestmark = pytest.mark.cluster

EPOCHS = 40


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", "--cluster", "1x4", "--policy", "fair")
    yield found
    found.kill_everything()


def submit(client: LiveClient, go: Path) -> str:
    values = {
        "name": "fit",
        "app": PROGRAM,
        "data": "digits",
        "workers": {"min": 1, "max": 3},
        "set": {"tol": 0},
        "epochs": EPOCHS,
        "checkpoint_every": 5,
        "envs": {"HELD_UNTIL": str(go)},
        "workdir": "/",
    }
    job: str = client.submit(values)["id"]
    return job


def attempts(client: LiveClient, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.job(job)["attempt_list"]
    return found


def await_attempt(
    client: LiveClient, job: str, number: int, is_so: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """An attempt of a job, once it has begun and something holds of it."""
    wait_until(lambda: len(attempts(client, job)) >= number)
    wait_until(lambda: is_so(attempts(client, job)[number - 1]))
    return attempts(client, job)[number - 1]


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_training_shrinks_and_grows_while_processes_are_killed(
    server: LiveServer, tmp_path: Path
) -> None:
    client, go, never = server.start(), tmp_path / "go", tmp_path / "never"
    one = submit(client, go)
    wait_until((server.folder / "checkpoints" / one / f"epoch-{EPOCHS_BEFORE:06d}").exists)
    two = submit(client, never)
    await_attempt(client, one, 1, lambda attempt: attempt["phase"] == "stopping")
    server.kill()
    client = server.start()
    go.touch()
    first = await_attempt(client, one, 1, lambda attempt: attempt["outcome"])
    held_file(go).unlink()
    go.unlink()
    assert (first["workers"], first["stop_cause"], first["outcome"]) == (3, "resized", "stopped")
    second = await_attempt(client, one, 2, lambda attempt: attempt["phase"] == "running")
    other = await_attempt(client, two, 1, lambda attempt: attempt["phase"] == "running")
    assert [(each["workers"], each["servers"]) for each in (second, other)] == [(1, 1), (1, 1)]
    wait_until(held_file(go).exists)
    client.change(two, "cancel")
    await_attempt(client, one, 2, lambda attempt: attempt["phase"] == "stopping")
    shepherd = attempt_file(server.folder, int(one), 2, 0, "shepherd.json")["pid"]
    os.kill(shepherd, signal.SIGKILL)
    third = await_attempt(client, one, 3, lambda attempt: attempt["phase"] == "running")
    assert (third["workers"], third["servers"]) == (3, 1)
    go.touch()
    done = ended(client, one)
    record, expected = record_of(done), undisturbed(EPOCHS, 3, 1)
    assert (record["epochs"], record["workers"]) == (EPOCHS, 3)
    assert record["loss"] == pytest.approx(expected["loss"], rel=1e-9)
    assert len(attempts(client, one)) == 3
    assert ended(client, two)["state"] == "CANCELLED"
    fourth = ProcessLog(client, one, rank=3)  # The second attempt has no such process.
    with pytest.raises(BadInput, match="attempt 2 of job 1 has processes 0 to 1"):
        next(fourth.until_end(attempt=2))
    with pytest.raises(BadInput, match="attempt 3 of job 1 has processes 0 to 3"):
        next(ProcessLog(client, one, rank=4).until_end())
