"""Routes of the memory that the cluster lends."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI

from motet.domain.errors import NotFound
from motet.interfaces.server.memory.documents import memory_document
from motet.live.lent_memory.cluster_memory import ClusterMemory
from motet.live.master.loop import MasterLoop

NO_MEMORY = "this cluster lends no memory; start its server with --lend-memory"


class MemoryDocuments:
    """What the cluster lends, read without blocking the event loop."""

    def __init__(self, master: MasterLoop, memory: ClusterMemory | None) -> None:
        """`memory`: None: the cluster lends none."""
        self._master, self._memory = master, memory

    @property
    def lends(self) -> bool:
        """Whether the cluster lends memory."""
        return self._memory is not None

    async def memory(self) -> dict[str, Any]:
        """What each machine lends, and the jobs that borrow it."""
        memory = self._memory
        if memory is None:
            raise NotFound(NO_MEMORY)
        status, options = memory.status(), memory.options
        return await asyncio.wrap_future(
            self._master.read(lambda state: memory_document(status, options, state))
        )


def add_memory_routes(app: FastAPI, documents: MemoryDocuments) -> None:
    """Add the routes; without memory to lend they answer that there is none."""
    app.add_api_route("/api/v1/memory", documents.memory)
