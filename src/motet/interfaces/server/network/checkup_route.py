"""What the server and its machines run, for `motet doctor`: `GET /api/v1/checkup`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI

from motet.interfaces.ray_launcher.installed_versions import InstalledVersions
from motet.interfaces.server.network.exposure import Exposure
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState


def add_checkup_route(
    app: FastAPI, master: MasterLoop, exposure: Exposure, head: str | None
) -> None:
    """Add the route. `head`: address of a Ray cluster that is joined."""

    async def checkup() -> dict[str, Any]:
        """Versions and clocks. `head`: the address of the Ray cluster, null: all jobs run on this
        machine. `machines`: those of a Ray cluster that have not left."""
        refusal, present = await asyncio.wrap_future(master.read(_present))
        examined = [found for name, found in master.examined.items() if name in present]
        return {
            "unix_s": time.time(),
            "versions": asdict(InstalledVersions.here()),
            "host": exposure.host,
            "is_encrypted": exposure.is_encrypted,
            "head": head,
            "refusal": refusal,
            "machines": [asdict(found) for found in sorted(examined, key=lambda it: it.name)],
        }

    app.add_api_route("/api/v1/checkup", checkup)


def _present(state: LiveState) -> tuple[str, set[str]]:
    assert state.cluster is not None
    pairs = zip(state.cluster.names, state.conditions, strict=True)
    return state.refusal, {name for name, condition in pairs if condition != "gone"}
