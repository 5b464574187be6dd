"""The file with the state of a pMaster, from which the next one goes on."""

from __future__ import annotations

from pathlib import Path

from motet.aggregation.master.state.pool_state import MasterSettings, PoolState
from motet.aggregation.master.state.savepoint import SavedPool, restored, saved
from motet.runtime.wire.codec import decode, encode


class StateFile:
    """Written before instructions are carried out, so that none is forgotten.

    A crash of the machine ends the Aggregators too; so nothing is forced to the disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, settings: MasterSettings, now_s: float) -> PoolState | None:
        """The state of the last pMaster; None: this is the first one. Raises BadMessage."""
        try:
            head = self._path.read_bytes()
        except FileNotFoundError:
            return None
        return restored(settings, decode(SavedPool, head), now_s)

    def save(self, state: PoolState) -> None:
        """Replace the file in one step."""
        head, _ = encode(saved(state))
        temporary = self._path.with_suffix(".new")
        temporary.touch(mode=0o600)
        temporary.write_bytes(head)
        temporary.replace(self._path)
