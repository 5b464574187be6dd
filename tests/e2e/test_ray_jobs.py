"""`motet server --address`: jobs on the nodes of a Ray cluster."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from live_server import LiveServer, running_server
from live_trainings import ended, record_of
from marked_process import run_motet
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.log_reading import ProcessLog
from motet.interfaces.ray_launcher.installed_versions import InstalledVersions
from motet.interfaces.ray_nodes.cluster_record import RayClusterRecord
from motet.interfaces.server_address import ServerAddress
from ray_nodes import RayNodes, ray_nodes
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

KINDS = ("server", "launcher", "supervisor", "node launcher", "shepherd")
COUNTING = Path(__file__).parents[1] / "support" / "counting_job.py"


@pytest.fixture(scope="module")
def nodes(no_shared_ray: None) -> Iterator[RayNodes]:
    """Two machines of two slots."""
    del no_shared_ray
    with ray_nodes(m1=2, m2=2) as found:
        yield found


@pytest.fixture(scope="module")
def server(nodes: RayNodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """The same for most tests: its processes on the nodes take seconds to start."""
    found = LiveServer(tmp_path_factory.mktemp("server") / "state", "--address", nodes.address)
    yield found
    found.kill_everything()


@pytest.fixture
def client(server: LiveServer) -> LiveClient:
    if server.process is None or server.process.poll() is not None:
        return server.start()
    return LiveClient(ServerAddress.find(folder=server.folder))


@pytest.fixture
def idle_nodes(nodes: RayNodes, server: LiveServer) -> RayNodes:
    """Those without the server of the other tests."""
    server.kill_everything()
    return nodes


def submit(client: LiveClient, run: str, processes: int = 1, **more: Any) -> str:
    spec = {"name": "job", "run": ["sh", "-c", run], "processes": processes, "workdir": "/"}
    job: str = client.submit({**spec, **more}, key="")["id"]
    return job


def count_to(client: LiveClient, steps: int, processes: int) -> str:
    """Submit a job that proves that it runs once."""
    run = f"exec {sys.executable} -S {COUNTING} {steps}"
    return submit(client, run, processes, retry={"max_attempts": 1})


def counted(server: LiveServer, job: str) -> list[int]:
    """Steps of every process that has counted."""
    folder = server.folder / "checkpoints" / job
    return [int(path.read_text()) for path in sorted(folder.glob("count-[0-9]"))]


def counts_on(server: LiveServer, job: str, processes: int) -> None:
    """Wait until every process has counted further."""
    before = counted(server, job) or [-1] * processes
    wait_until(lambda: _is_ahead(counted(server, job), before))


def _is_ahead(counts: list[int], before: list[int]) -> bool:
    pairs = list(zip(counts, before, strict=False))
    return len(pairs) == len(before) and all(now > then for now, then in pairs)


def await_steps(server: LiveServer, jobs: list[str], more: int, most: int) -> None:
    """Wait until the jobs have counted further, or to the end."""

    def total() -> int:
        return sum(sum(counted(server, job)) for job in jobs)

    wanted = min(total() + more, most)
    wait_until(lambda: total() >= wanted)


def doubles(server: LiveServer) -> list[Path]:
    return list((server.folder / "checkpoints").glob("*/double-*"))


def test_a_gang_runs_on_all_machines_or_waits(server: LiveServer, client: LiveClient) -> None:
    job = submit(client, 'echo "$MOTET_NODE_ADDRESS $RANK of $WORLD_SIZE $LOCAL_RANK"', 4)
    waits = submit(client, "true", 4)
    assert ended(client, job)["state"] == "SUCCEEDED"
    assert ended(client, waits)["state"] == "SUCCEEDED"
    (attempt,) = client.job(job)["attempt_list"]
    assert attempt["placement"] == {"m1": 2, "m2": 2}
    logs = [
        (server.folder / "attempts" / job / "1" / f"rank-{rank}" / "log").read_text().split()[1:]
        for rank in range(4)
    ]
    assert logs == [[str(rank), "of", "4", str(rank % 2)] for rank in range(4)]


@pytest.mark.soak
def test_jobs_run_on_while_launchers_supervisors_and_the_server_are_killed(
    nodes: RayNodes, server: LiveServer, client: LiveClient
) -> None:
    job = count_to(client, 100_000, 4)
    counts_on(server, job, 4)
    for victims in (server.launchers, nodes.supervisors, nodes.launchers):
        for pid in victims():
            os.kill(pid, signal.SIGKILL)
        counts_on(server, job, 4)
    server.kill()
    client = server.start()
    counts_on(server, job, 4)
    client.change(job, "suspend")
    wait_until(lambda: server.shepherds() == [])
    client.change(job, "resume")
    counts_on(server, job, 4)
    client.change(job, "cancel")
    wait_until(lambda: client.job(job)["attempt_list"][-1]["phase"] == "ended")
    first, second = client.job(job)["attempt_list"]
    assert [end["reason"] for end in first["exits"]] == ["stopped"] * 4
    assert second["stop_cause"] == "cancelled"
    assert doubles(server) == []


@pytest.mark.soak
def test_a_training_on_two_machines_gives_the_model_of_motet_train(client: LiveClient) -> None:
    training = {"name": "fit", "app": "mlr", "data": "digits", "workers": 2, "servers": 1}
    epochs = {"epochs": 5, "set": {"tol": 0}, "workdir": "/"}
    job = client.submit({**training, **epochs}, key="")["id"]
    words = ("mlr", "--data", "digits", "--workers", "2", "--servers", "1", "--epochs", "5")
    alone = run_motet("train", *words, "--set", "tol=0", "--json")
    record = record_of(ended(client, job))
    assert record["model_sha256"] == json.loads(alone.out)["model_sha256"]
    assert len(client.job(job)["attempt_list"][0]["placement"]) == 2


def test_a_gang_that_ray_has_no_room_for_is_not_half_started(
    nodes: RayNodes, server: LiveServer, client: LiveClient
) -> None:
    assert ended(client, submit(client, "true", 4))["state"] == "SUCCEEDED"
    with nodes.taken("m2", 1) as has_waiting:
        job = count_to(client, 10, 4)
        wait_until(has_waiting)
        assert list((server.folder / "attempts" / job).glob("*/rank-*/shepherd.json")) == []
    assert ended(client, job)["state"] == "SUCCEEDED"
    assert doubles(server) == []


def examined(server: LiveServer) -> dict[str, list[tuple[str, str]]]:
    """What `motet doctor` finds: verdicts and messages by subject."""
    done = run_motet("doctor", "--state-dir", server.folder, "--json")
    found: dict[str, list[tuple[str, str]]] = {}
    for each in json.loads(done.out)["checks"]:
        found.setdefault(each["subject"], []).append((each["verdict"], each["message"]))
    return found


@pytest.mark.soak
def test_versions_clocks_and_the_head_are_examined(
    nodes: RayNodes, server: LiveServer, client: LiveClient
) -> None:
    nodes.add("m3", 1)
    wait_until(lambda: len(client.checkup()["machines"]) == 3)
    found, here = examined(server), InstalledVersions.here()
    words = f"Motet {here.motet}, Python {here.python}, Ray {here.ray}"
    assert found["versions"] == [("ok", f"3 machines as the server: {words}")]
    ((verdict, clocks),) = found["clocks"]
    assert (verdict, clocks.startswith("3 machines within ")) == ("ok", True)
    ((verdict, head),) = found["head port"]
    assert (verdict, head.startswith(f"{nodes.address} accepts connections")) == ("ok", True)

    nodes.remove("m3")
    wait_until(lambda: {it["name"]: it["state"] for it in client.machines()}["m3"] == "GONE")
    after = examined(server)
    assert after["machines"] == [("warning", "m3 is GONE")]
    assert after["versions"] == [("ok", f"2 machines as the server: {words}")]


def test_without_ray_jobs_are_accepted_and_wait(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with running_server(tmp_path / "state", "--address", address) as server:
            client = LiveClient(ServerAddress.find(folder=server.folder))
            job = submit(client, "true")
            wait_until(lambda: address in client.job(job)["message"])
            found = client.job(job)
    assert (found["state"], found["reason"]) == ("PENDING", "ClusterUnreachable")
    assert "--head" not in found["message"]


@pytest.mark.soak
def test_without_the_head_of_a_server_its_jobs_tell_how_an_admin_starts_it(tmp_path: Path) -> None:
    no_more = subprocess.Popen(["true"])
    no_more.wait()
    (folder := tmp_path / "state").mkdir(mode=0o700)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        RayClusterRecord(address, no_more.pid, 1.0).write(folder)
        with running_server(folder, "--address", address) as server:
            client = LiveClient(ServerAddress.find(folder=server.folder))
            job = submit(client, "true")
            wait_until(lambda: address in client.job(job)["message"])
            told = client.explain(job)
    remedy = f"end the server and start that with --head {address}"
    assert f"its head has ended; to start it again, {remedy}" in json.dumps(told)


@pytest.mark.soak
def test_jobs_of_a_lost_machine_continue_elsewhere_when_its_processes_are_dead(
    idle_nodes: RayNodes, tmp_path: Path
) -> None:
    """The host of a killed raylet lives on, and so do the processes until their lease ends."""
    nodes = idle_nodes
    nodes.add("lost", 3)
    options = ("--address", nodes.address, "--lease", "8")
    with running_server(tmp_path / "state", *options) as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        job = count_to(client, 3000, 7)
        counts_on(server, job, 7)
        nodes.remove("lost")
        wait_until(lambda: client.job(job)["state"] == "PENDING")
        assert server.job_processes() == []
        wait_until(lambda: server.shepherds() == [])  # They end after their processes.
        nodes.add("new", 3)
        found = ended(client, job)
        assert found["state"] == "SUCCEEDED"
        first, *_, last = found["attempt_list"]
        assert first["outcome"] == "lost"
        assert set(last["placement"]) == {"m1", "m2", "new"}
        assert counted(server, job) == [3000] * 7
        assert doubles(server) == []
    nodes.remove("new")


@pytest.mark.soak
def test_a_followed_log_goes_on_when_its_machine_is_lost(
    idle_nodes: RayNodes, tmp_path: Path
) -> None:
    nodes = idle_nodes
    nodes.add("gone", 3)
    run = "n=0; while [ $MOTET_ATTEMPT_NUMBER = 1 ]; do echo $n; n=$((n + 1)); sleep 0.1; done; pwd"
    with running_server(tmp_path / "state", "--address", nodes.address, "--lease", "8") as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        job = submit(client, run, 7)
        chunks = ProcessLog(client, job, rank=6).until_end()
        seen = [next(chunks) for _ in range(3)]
        nodes.remove("gone")
        nodes.add("fresh", 3)
        seen += chunks
        first, *_, last = client.job(job)["attempt_list"]
        assert (first["placement"]["gone"], last["placement"]["fresh"]) == (3, 3)
        *counted_lines, end = b"".join(chunk.data for chunk in seen).decode().splitlines()
        assert counted_lines == [str(n) for n in range(len(counted_lines))]
        assert end == "/"
        assert {chunk.attempt for chunk in seen} == {first["number"], last["number"]}
    nodes.remove("fresh")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_random_kills_lose_no_job_and_start_none_twice(
    nodes: RayNodes, server: LiveServer, client: LiveClient
) -> None:
    draw, steps = random.Random(1), 400
    sizes = [draw.randint(1, 3) for _ in range(8)]  # Two gangs of three never fit together.
    jobs = [count_to(client, steps, size) for size in sizes]
    victims = {
        "launcher": server.launchers,
        "supervisor": nodes.supervisors,
        "node launcher": nodes.launchers,
        "shepherd": server.shepherds,
    }
    for _ in range(20):
        await_steps(server, jobs, draw.randint(10, 200), steps * sum(sizes))
        kind = draw.choice(KINDS)
        if kind == "server":
            server.kill()
            client = server.start()
        elif found := victims[kind]():
            with suppress(ProcessLookupError):
                os.kill(draw.choice(found), signal.SIGKILL)
    assert [ended(client, job)["state"] for job in jobs] == ["SUCCEEDED"] * len(jobs)
    assert [counted(server, job) for job in jobs] == [[steps] * size for size in sizes]
    assert doubles(server) == []
