"""`motet doctor` and the machines of a Ray cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_server import LiveServer
from marked_process import run_motet
from motet.interfaces.ray_launcher.installed_versions import InstalledVersions
from ray_nodes import RayNodes, ray_nodes
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


@pytest.fixture
def nodes(no_shared_ray: None) -> Iterator[RayNodes]:
    del no_shared_ray
    with ray_nodes(m1=1, m2=1) as found:
        yield found


def examined(server: LiveServer) -> dict[str, list[tuple[str, str]]]:
    """Verdicts and messages by subject."""
    done = run_motet("doctor", "--state-dir", server.folder, "--json")
    found: dict[str, list[tuple[str, str]]] = {}
    for each in json.loads(done.out)["checks"]:
        found.setdefault(each["subject"], []).append((each["verdict"], each["message"]))
    return found


def test_versions_clocks_and_the_head_are_examined(nodes: RayNodes, tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "state", "--address", nodes.address)
    try:
        client = server.start()
        wait_until(lambda: len(client.checkup()["machines"]) == 2)
        found, here = examined(server), InstalledVersions.here()
        words = f"Motet {here.motet}, Python {here.python}, Ray {here.ray}"
        assert found["versions"] == [("ok", f"2 machines as the server: {words}")]
        ((verdict, clocks),) = found["clocks"]
        assert (verdict, clocks.startswith("2 machines within ")) == ("ok", True)
        ((verdict, head),) = found["head port"]
        assert (verdict, head.startswith(f"{nodes.address} accepts connections")) == ("ok", True)

        nodes.remove("m2")
        wait_until(lambda: {it["name"]: it["state"] for it in client.machines()}["m2"] == "GONE")
        after = examined(server)
        assert after["machines"] == [("warning", "m2 is GONE")]
        assert after["versions"] == [("ok", f"1 machine as the server: {words}")]
    finally:
        server.kill_everything()
