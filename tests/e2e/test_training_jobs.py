"""Trainings on a real server: whatever happens to them, the model is that of `motet train`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from attempt_files import attempt_file
from held_training import EPOCHS_BEFORE, held_file
from live_server import LiveServer, running_server
from live_trainings import PROGRAM, ended, record_of, undisturbed
from motet.domain.errors import BadInput
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from motet.live.process_table import descendants
from trained_here import trained_here
from waiting import wait_until

pytestmark = pytest.mark.cluster

EPOCHS = 40
JOB = {"name": "fit", "app": "mlr", "data": "digits", "workdir": "/", "set": {"tol": 0}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x3") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> LiveClient:
    return LiveClient(ServerAddress.find(folder=server.folder))


@pytest.fixture(scope="module")
def expected() -> str:
    """SHA-256 of the model of `motet train` with the same arguments."""
    sha: str = undisturbed(EPOCHS, 1, 1)["model_sha256"]
    return sha


def log_of(client: LiveClient, job: str, attempt: int = 0) -> bytes:
    return client.log_part(job, rank=0, attempt=attempt, offset=0)[0]


def suspend(client: LiveClient, server: LiveServer, job: str, attempt: int) -> None:
    del server
    client.change(job, "suspend")
    wait_until(
        lambda: b"ends after this mini-batch, with a checkpoint" in log_of(client, job, attempt)
    )


def kill_controller(client: LiveClient, server: LiveServer, job: str, attempt: int) -> None:
    del client
    kill_process(server, job, attempt, 0, "started.json")


def kill_member(client: LiveClient, server: LiveServer, job: str, attempt: int) -> None:
    del client
    kill_process(server, job, attempt, 1, "started.json")


def kill_shepherd(client: LiveClient, server: LiveServer, job: str, attempt: int) -> None:
    del client
    kill_process(server, job, attempt, 1, "shepherd.json")


def kill_process(server: LiveServer, job: str, attempt: int, rank: int, file: str) -> None:
    os.kill(attempt_file(server.folder, int(job), attempt, rank, file)["pid"], signal.SIGKILL)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_training_that_is_disturbed_again_and_again_ends_with_the_model_of_an_undisturbed_one(
    client: LiveClient, server: LiveServer, expected: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    values = {**JOB, "app": PROGRAM, "epochs": EPOCHS}
    values |= {"checkpoint_every": 5, "envs": {"HELD_UNTIL": str(go)}}
    job = client.submit(values)["id"]
    checkpoints = server.folder / "checkpoints" / job
    for attempt, disturb in enumerate((kill_controller, kill_member, kill_shepherd, suspend), 1):
        wait_until(held_file(go).exists)
        held_file(go).unlink()
        assert (checkpoints / f"epoch-{EPOCHS_BEFORE:06d}").exists()
        wait_until(lambda: len(client.job(job)["attempt_list"]) == attempt)  # noqa: B023
        disturb(client, server, job, attempt)
    go.touch()
    wait_until(lambda: client.job(job)["attempt_list"][-1]["outcome"])
    newest = max(path.name for path in checkpoints.glob("epoch-*"))
    assert newest > f"epoch-{EPOCHS_BEFORE:06d}"
    client.change(job, "resume")
    done = ended(client, job)
    record = record_of(done)
    assert (record["model_sha256"], record["epochs"]) == (expected, EPOCHS)
    folder = Path(done["results"])
    assert {"model.npz", "loss.csv", "loss.png"} <= {path.name for path in folder.iterdir()}
    assert len((folder / "loss.csv").read_text().splitlines()) == EPOCHS + 1
    assert done["progress"]["epochs_done"] == EPOCHS
    outcomes = [each["outcome"] for each in done["attempt_list"]]
    assert outcomes == ["lost", "lost", "lost", "stopped", "succeeded"]


@pytest.mark.soak
def test_the_secret_of_a_gang_is_for_its_user_while_it_trains(
    client: LiveClient, server: LiveServer, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    envs = {"HELD_UNTIL": str(go)}
    job = client.submit({**JOB, "app": PROGRAM, "epochs": EPOCHS, "envs": envs})["id"]
    gang = server.folder / "attempts" / job / "1" / "gang"
    wait_until((gang / "controller.json").exists)
    assert (gang.stat().st_mode & 0o777, (gang / "secret").stat().st_mode & 0o777) == (0o700, 0o600)
    go.touch()
    assert ended(client, job)["state"] == "SUCCEEDED"
    assert not (gang / "secret").exists()


@pytest.mark.soak
def test_a_training_keeps_its_input_on_disk(client: LiveClient, server: LiveServer) -> None:
    values = {**JOB, "app": "kmeans", "workers": 2, "epochs": 10_000_000, "spill": 1}
    job = client.submit(values)["id"]
    wait_until(lambda: spilled_bytes(server, job) > 0)
    client.change(job, "cancel")
    assert ended(client, job)["state"] == "CANCELLED"
    record = record_of(ended(client, client.submit({**values, "epochs": 3})["id"]))
    assert "share=1.0" in record["options"]["spill"]


def spilled_bytes(server: LiveServer, job: str) -> int:
    """Size of the files without a name in which the processes of a job keep their input."""
    found = 0
    for rank in range(3):
        held_by = attempt_file(server.folder, int(job), 1, rank, "shepherd.json")
        for pid in [] if held_by is None else descendants(held_by["pid"]):
            with suppress(FileNotFoundError):  # The process or a file has ended meanwhile.
                for file in Path(f"/proc/{pid}/fd").iterdir():
                    if "motet-spill-" in os.readlink(file):
                        found += file.stat().st_size
    return found


def test_an_error_of_the_training_is_in_its_log_and_fails_the_job(client: LiveClient) -> None:
    with pytest.raises(BadInput, match="no such file; check the path"):
        client.submit({**JOB, "data": "no-such-file.csv"})
    job = client.submit({**JOB, "data": "no-such-folder/file.csv"})["id"]
    assert ended(client, job)["state"] == "FAILED"
    log = log_of(client, job)
    assert b"motet: error: " in log
    assert b"no-such-folder/file.csv" in log


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_training_with_auto_is_driven_by_the_autotuner(client: LiveClient) -> None:
    data, epochs = "synthetic-classification:rows=8000,features=50,classes=20", 20
    values = {
        **JOB,
        "app": "kmeans",
        "data": data,
        "set": {"tol": 0, "n_clusters": 100},
        "workers": 1,
        "servers": 2,
        "epochs": epochs,
        "auto": True,
    }
    done = ended(client, client.submit(values)["id"])
    record = record_of(done)
    plain = trained_here("kmeans", data, epochs, roles=(1, 1), tol=0, n_clusters=100)
    assert record["final_loss"] == pytest.approx(plain.losses[-1], rel=1e-6)
    assert record["auto"] is not None
    assert {change["error"] for change in record["reconfigurations"]} <= {""}
    files = {path.name for path in Path(done["results"]).iterdir()}
    assert {"auto.png", "auto-epochs.csv", "auto-decisions.csv"} <= files
