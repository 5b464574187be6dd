"""The part of an engine's state that carrying out a decision changes, to undo it."""

from __future__ import annotations

from motet.engine.actions.requests import Requests
from motet.engine.state.cluster_state import ClusterState


class Savepoint:
    """State and pending actions at a moment. No job may arrive or leave until `restore`."""

    def __init__(self, state: ClusterState, requests: Requests) -> None:
        self._state, self._requests = state, requests
        self._values = state.table.values()
        self._placements = dict(state.placements)
        room = state.room
        self._room = room.gpus.copy(), room.cpus.copy(), room.memory_bytes.copy()
        self._sharing, self._has_shared = state.sharing.copy(), state.has_shared
        self._pending = requests.copy()

    def restore(self) -> None:
        """Undo what has happened since; once."""
        state = self._state
        state.table.put_back(self._values)
        state.placements.clear()
        state.placements.update(self._placements)
        room = state.room
        for column, values in zip(
            (room.gpus, room.cpus, room.memory_bytes), self._room, strict=True
        ):
            column[:] = values
        state.sharing, state.has_shared = self._sharing, self._has_shared
        self._requests.replace(self._pending)
