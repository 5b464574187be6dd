"""Two gangs that never fit together, on a Ray that takes its time between their parts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from motet.interfaces.ray_launcher.connection import connected
from motet.interfaces.ray_launcher.reservations import GangReservations
from ray_nodes import RayNodes, ray_nodes

pytestmark = [pytest.mark.soak, pytest.mark.cluster, pytest.mark.timeout(1800)]

ROUNDS = 3
LEAST_DELAYS_S = 0.2
DELAYS = "NodeManagerService.grpc_server.%sBundleResources=100000:900000"
"""Microseconds before a node answers a request about a part of a gang: at random, so that parts of
two gangs meet in any order."""


@pytest.fixture
def nodes(
    no_shared_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RayNodes]:
    """Two machines of five slots."""
    del no_shared_ray, tmp_path
    delays = ",".join(DELAYS % each for each in ("Prepare", "Commit"))
    monkeypatch.setenv("RAY_testing_asio_delay_us", delays)
    with ray_nodes(m1=5, m2=5) as found:
        yield found


def test_two_gangs_of_six_tenths_each_get_their_slots_one_after_the_other(nodes: RayNodes) -> None:
    try:
        assert asyncio.run(rounds(nodes)) == ROUNDS
    finally:
        ray.shutdown()


async def rounds(nodes: RayNodes) -> int:
    """How many times both gangs got all of their slots."""
    connection = await connected(nodes.address, "gangs", lambda reason: None)
    reservations = GangReservations(connection)
    listed = await connection.call(ray.nodes)
    identities = [each["NodeID"] for each in listed if each["Resources"].get("CPU")]
    assert len(identities) == 2
    holds = list[str]()

    async def gang(attempt: str, order: list[str]) -> None:
        begun_s = time.monotonic()
        await reservations.reserve(attempt, {node: {"CPU": 3.0} for node in order}, lambda: True)
        assert time.monotonic() - begun_s >= LEAST_DELAYS_S, "Ray ignores the delays"
        holds.append(attempt)
        assert holds == [attempt], "both gangs hold their slots"
        holds.remove(attempt)
        await reservations.release(attempt)

    for number in range(ROUNDS):
        # Each begins with the other one's last machine.
        forth, back = identities, identities[::-1]
        await asyncio.gather(gang(f"1.{number}", forth), gang(f"2.{number}", back))
    return number + 1
