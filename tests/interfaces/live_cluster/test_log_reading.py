"""Logs of a real server's jobs: across attempts, machines and writers that do not pause."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_server import LiveServer, running_server
from motet.domain.errors import Unreachable
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.log_reading import LogChunk, ProcessLog
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = pytest.mark.cluster

COUNTS_ONCE = """
n=0
while [ $MOTET_ATTEMPT_NUMBER = 1 ]; do
  echo "$MOTET_ATTEMPT_NUMBER $n"; n=$((n + 1)); sleep 0.01
done
echo "$MOTET_ATTEMPT_NUMBER end"
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """Two machines of one slot; one that loses a process takes no further jobs."""
    with running_server(tmp_path / "state", "--cluster", "2x1", "--drain-after", "1") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


def submitted(client: LiveClient, run: str) -> str:
    job: str = client.submit({"name": "job", "run": run, "workdir": "/"})["id"]
    return job


def log_file(server: LiveServer, job: str, attempt: int = 1) -> Path:
    return server.folder / "attempts" / job / str(attempt) / "rank-0" / "log"


def lines_of(chunks: list[LogChunk]) -> list[str]:
    return b"".join(chunk.data for chunk in chunks).decode().splitlines()


def test_a_followed_log_goes_on_on_another_machine_and_no_line_comes_twice(
    server: LiveServer, client: LiveClient
) -> None:
    job = submitted(client, COUNTS_ONCE)
    chunks = ProcessLog(client, job, rank=0).until_end()
    seen = [next(chunks)]
    while len(lines_of(seen)) < 100:
        seen.append(next(chunks))
    (shepherd,) = server.shepherds()
    os.kill(shepherd, signal.SIGKILL)

    lines = lines_of([*seen, *chunks])

    first, second = client.job(job)["attempt_list"]
    assert (first["outcome"], second["outcome"]) == ("lost", "succeeded")
    assert first["placement"] != second["placement"]
    assert lines[:-1] == [f"1 {n}" for n in range(len(lines) - 1)]
    assert lines[-1] == "2 end"
    assert log_file(server, job).read_text().splitlines() == lines[:-1]
    assert lines_of([*ProcessLog(client, job, rank=0).until_end(attempt=1)]) == lines[:-1]


def test_a_log_until_now_ends_although_the_process_writes_on(
    server: LiveServer, client: LiveClient
) -> None:
    job, size = submitted(client, "exec sleep 1000"), 3 << 20
    wait_until(log_file(server, job).exists)
    written = 0
    with log_file(server, job).open("ab", buffering=0) as file:
        file.write(bytes(size))
        for chunk in ProcessLog(client, job, rank=0).until_now():
            written += len(chunk.data)
            file.write(bytes(size))
    client.change(job, "cancel")
    assert size <= written <= 2 * size


def test_a_job_that_never_began_has_no_log(client: LiveClient) -> None:
    holders = [submitted(client, "exec sleep 1000") for _ in range(2)]
    job = submitted(client, "echo never")
    assert [*ProcessLog(client, job, rank=0).until_now()] == []
    for each in (job, *holders):
        client.change(each, "cancel")
    assert [*ProcessLog(client, job, rank=0).until_end()] == []


def test_a_job_that_is_resumed_is_followed_from_attempt_to_attempt(client: LiveClient) -> None:
    job = submitted(client, "echo $MOTET_ATTEMPT_NUMBER; [ $MOTET_ATTEMPT_NUMBER = 3 ] || sleep 99")
    chunks = ProcessLog(client, job, rank=0).until_end()
    for attempt in ("1", "2"):
        assert lines_of([next(chunks)]) == [attempt]
        client.change(job, "suspend")
        client.change(job, "resume")
    assert [chunk.attempt for chunk in chunks] == [3]


@pytest.mark.soak
def test_a_followed_log_goes_on_when_the_server_is_started_again(server: LiveServer) -> None:
    told: list[str] = []
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        run = "n=0; while [ $n -lt 1000 ]; do echo $n; n=$((n + 1)); sleep 0.01; done"
        job = submitted(client, run)
        before, chunks = client.url, ProcessLog(client, job, 0, told.append).until_end()
        seen = [next(chunks)]
        server.kill()
        starting = threading.Thread(target=server.start)
        starting.start()
        seen += chunks
        starting.join()
        assert client.url != before
    assert lines_of(seen) == [str(n) for n in range(1000)]
    assert len(told) == 1
    assert "does not answer" in told[0]


def test_without_a_server_there_is_nothing_to_follow(
    server: LiveServer, client: LiveClient
) -> None:
    job = submitted(client, "exec sleep 1000")
    server.kill()
    with pytest.raises(Unreachable):
        next(ProcessLog(client, job, rank=0).until_end())
