"""Kills of the server's connection to Ray, of supervisors, raylets and Ray's head service."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kill_rounds import await_steps, check, job_of
from live_server import LiveServer
from live_trainings import FINAL
from motet.interfaces.client import LiveClient
from ray_nodes import RayNodes, ray_nodes

KILLS = {"launcher": 12, "supervisor": 16, "raylet": 6, "head service": 3}
ROUNDS = 5
STEPS, JOBS = 400, 12
LONGEST_AWAY_S = 30.0
LEASE_S = 10

pytestmark = [pytest.mark.soak_live, pytest.mark.cluster, pytest.mark.timeout(3600)]


@pytest.fixture
def nodes(no_shared_ray: None, tmp_path: Path) -> Iterator[RayNodes]:
    """Two machines of two slots; the head keeps its tables on disk."""
    del no_shared_ray
    with ray_nodes(tmp_path / "gcs", m1=2, m2=2) as found:
        yield found


@pytest.fixture
def server(nodes: RayNodes, tmp_path: Path) -> Iterator[LiveServer]:
    options = ("--address", nodes.address, "--lease", str(LEASE_S), "--drain-after", "0")
    found = LiveServer(tmp_path / "state", *options)
    yield found
    found.kill_everything()


@pytest.mark.parametrize("number", range(ROUNDS))
def test_kills_below_ray_lose_no_job_and_start_none_twice(
    nodes: RayNodes, server: LiveServer, number: int
) -> None:
    draw, client = random.Random(number), server.start()
    kinds = [kind for kind, count in KILLS.items() for _ in range(count)]
    draw.shuffle(kinds)
    accepted = submit_jobs(client, draw)
    for kind in kinds:
        await_steps(server, client, draw.randint(10, 200))
        kill(nodes, server, kind, draw)
    for job in accepted:
        while client.wait(job, 30.0)["state"] not in FINAL:
            pass
    check(server, client, accepted, STEPS)


def submit_jobs(client: LiveClient, draw: random.Random) -> dict[str, int]:
    """Two gangs of three never fit together. Processes by job."""
    sizes = [draw.randint(1, 3) for _ in range(JOBS)]
    return {
        client.submit(job_of(f"j{n}", size, STEPS), key=f"key-{n}")["id"]: size
        for n, size in enumerate(sizes)
    }


def kill(nodes: RayNodes, server: LiveServer, kind: str, draw: random.Random) -> None:
    """`launcher`: the child of the server that is connected to Ray."""
    if kind in ("launcher", "supervisor"):
        if found := server.launchers() if kind == "launcher" else nodes.supervisors():
            with suppress(ProcessLookupError):
                os.kill(draw.choice(found), signal.SIGKILL)
    elif kind == "raylet":
        name = draw.choice(["m1", "m2"])
        nodes.remove(name)
        nodes.add(name, 2)
    else:
        nodes.restart_head_service(away_s=draw.choice([0.0, draw.uniform(0.0, LONGEST_AWAY_S)]))
