"""`motet server --lend-memory`: jobs borrow idle memory, and what a job requests is theirs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import motet
from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
SUPPORT = Path(__file__).parents[1] / "support"
SLAB = 1 << 20
LENT_SLABS = 24
SIZE = 8 * SLAB


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    lending = ("--lend-memory", str(LENT_SLABS * SLAB), "--lend-slab", "1M")
    options = ("--cluster", "2x2", *lending, "--lend-head-room", "1M")
    with running_server(tmp_path / "state", *options) as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


class Borrowing:
    """A live job that has an array in borrowed memory, and checks it again and again."""

    def __init__(self, client: LiveClient, folder: Path, **more: Any) -> None:
        self.folder = folder
        folder.mkdir()
        spec = {
            "name": "array",
            "run": [
                *(sys.executable, str(SUPPORT / "borrowing_program.py")),
                *(str(folder), str(SIZE)),
            ],
            "workdir": str(folder),
            "envs": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        }
        self.job: str = client.submit({**spec, **more})["id"]

    def _numbers(self) -> tuple[int, int]:
        path = self.folder / "rounds"
        if not path.exists():
            return 0, 0
        rounds, pages = map(int, path.read_text().split())
        return rounds, pages

    def borrows(self) -> None:
        """Wait until a part of the array is remote."""
        wait_until(lambda: self._numbers()[1] > 0, 60.0)

    def goes_on(self) -> None:
        """Wait until it has checked everything twice more."""
        before = self._numbers()[0]
        wait_until(lambda: self._numbers()[0] > before + 2)

    def finish(self, client: LiveClient) -> None:
        """Let it end; every byte was right."""
        (self.folder / "end").touch()
        assert ended(client, self.job)["state"] == "SUCCEEDED"


def lenders(client: LiveClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.memory()["lenders"]
    return found


def lending(client: LiveClient, machines: int = 2) -> bool:
    """Whether all machines lend what they may."""
    found = lenders(client)
    slabs = [each["free_slabs"] + each["mapped_slabs"] for each in found]
    return len(found) == machines and slabs == [LENT_SLABS] * machines


def test_a_job_borrows_is_shown_and_billed_and_gives_all_back(
    server: LiveServer, client: LiveClient, tmp_path: Path
) -> None:
    wait_until(lambda: lending(client))
    job = Borrowing(client, tmp_path / "job")
    job.borrows()
    wait_until(lambda: client.memory()["jobs"] != [])
    (row,) = client.memory()["jobs"]
    assert (row["id"], row["name"]) == (job.job, "array")
    wait_until(lambda: sum(each["mapped_slabs"] for each in lenders(client)) > 0)
    assert {job.job} <= {name for each in lenders(client) for name in each["job_ids"]}
    assert 'motet_memory_slabs{machine="m0",state="free"}' in client.metrics()
    with motet.Client(state_dir=server.folder) as cluster:
        assert list(cluster.lenders().index) == ["m0", "m1"]
        assert cluster.borrowers().loc[int(job.job), "name"] == "array"
    job.finish(client)
    wait_until(lambda: all(each["mapped_slabs"] == 0 for each in lenders(client)))
    wait_until(lambda: client.job(job.job)["borrowed_gb_hours"] > 0)
    (usage,) = client.usage(["user"], None)["rows"]
    assert usage["borrowed_gb_hours"] == pytest.approx(client.job(job.job)["borrowed_gb_hours"])
    assert client.memory()["jobs"] == []


@pytest.mark.soak
def test_a_request_of_a_job_wins_at_once(
    server: LiveServer, client: LiveClient, tmp_path: Path
) -> None:
    """The lent memory of its machine is taken back, and the borrower loses nothing."""
    wait_until(lambda: lending(client))
    job = Borrowing(client, tmp_path / "job")
    job.borrows()
    whole = min(each["memory_bytes"] for each in client.machines())
    spec = {"name": "large", "run": ["sleep", "600"], "workdir": "/", "memory": whole - (1 << 20)}
    large = client.submit(spec)["id"]
    wait_until(lambda: client.job(large)["state"] == "RUNNING")
    (machine,) = client.job(large)["attempt_list"][0]["placement"]

    def has_nothing() -> bool:
        (found,) = [each for each in lenders(client) if each["machine"] == machine]
        return (found["free_slabs"], found["mapped_slabs"]) == (0, 0)

    wait_until(has_nothing)
    job.goes_on()
    client.change(large, "cancel")
    wait_until(lambda: lending(client))
    job.finish(client)


@pytest.mark.soak
def test_lenders_outlive_the_server_and_a_lender_that_dies_is_replaced(
    server: LiveServer, client: LiveClient, tmp_path: Path
) -> None:
    wait_until(lambda: lending(client))
    job = Borrowing(client, tmp_path / "job")
    job.borrows()
    before = server.lenders()
    server.kill()
    job.goes_on()
    with server.start() as again:
        wait_until(lambda: lending(again))
        assert server.lenders() == before
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        job.goes_on()
        wait_until(lambda: lending(again))
        assert not set(before) & set(server.lenders())
        wait_until(lambda: any(each["slabs"] for each in again.memory()["jobs"]))
        job.finish(again)


@pytest.mark.soak
def test_a_drained_machine_lends_nothing(server: LiveServer, client: LiveClient) -> None:
    wait_until(lambda: lending(client))
    client.drain_machine("m1", "repair")
    wait_until(lambda: [each["machine"] for each in lenders(client)] == ["m0"])
    client.resume_machine("m1")
    wait_until(lambda: lending(client))
