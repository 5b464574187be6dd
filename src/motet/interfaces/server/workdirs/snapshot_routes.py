"""Routes of snapshots; any user that may submit jobs may send one."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import FastAPI, Path
from starlette.requests import Request

from motet.domain.errors import NotFound
from motet.interfaces.server.access import SNAPSHOTS_PATH
from motet.interfaces.server.accounts.caller_of_request import note_target
from motet.live.workdirs.digest import DIGEST
from motet.live.workdirs.store import SnapshotStore

_Digest = Annotated[str, Path(pattern=DIGEST)]


def add_snapshot_routes(app: FastAPI, store: SnapshotStore) -> None:
    """Add the routes."""
    routes = SnapshotRoutes(store)
    app.add_api_route(SNAPSHOTS_PATH + "{digest}", routes.show)
    app.add_api_route(SNAPSHOTS_PATH + "{digest}", routes.receive, methods=["PUT"], status_code=201)


class SnapshotRoutes:
    """What the API does with archives."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store

    async def show(self, digest: _Digest) -> dict[str, Any]:
        """Whether the archive is here: who has it need not send it."""
        size = await asyncio.to_thread(self._store.size, digest)
        if size is None:
            raise NotFound(f"no snapshot {digest}")
        return {"digest": digest, "bytes": size}

    async def receive(self, digest: _Digest, request: Request) -> dict[str, Any]:
        """Keep an archive: a tar file, whose SHA-256 is `digest`."""
        note_target(request, f"snapshot {digest[:12]}")
        with await asyncio.to_thread(self._store.receive, digest) as archive:
            async for data in request.stream():
                await asyncio.to_thread(archive.write, data)
            size = await asyncio.to_thread(archive.keep)
        return {"digest": digest, "bytes": size}
