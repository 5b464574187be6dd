"""Memory that jobs of a lender's machine have requested and do not use yet: it is not lent."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from motet.remote_memory.core.head_room import MemoryUse


class RequestedMemory:
    """What processes use is averaged as the use of the machine is: as a process takes what it has
    requested, the sum of both stays the same, and nothing is lent in between. Not thread-safe.
    """

    def __init__(self) -> None:
        self._requests: Mapping[str, int] = {}
        self._used: dict[str, MemoryUse] = {}
        self._averages: dict[str, int] = {}

    @property
    def names(self) -> Collection[str]:
        """Of the processes that have requested memory."""
        return self._requests.keys()

    def replace(self, requests: Mapping[str, int]) -> None:
        """All requests, in bytes by process; each counts from now on."""
        self._requests = dict(requests)
        self._used = {name: self._used.get(name) or _none_used() for name in requests}
        self._averages = {name: self._averages.get(name, 0) for name in requests}

    def measured(self, used_bytes: Mapping[str, int]) -> None:
        """What the processes use now; those that are missing use nothing yet."""
        self._averages = {
            name: use.measured(used_bytes.get(name, 0)) for name, use in self._used.items()
        }

    @property
    def unused_bytes(self) -> int:
        """Of all requests."""
        return sum(
            max(requested - self._averages[name], 0) for name, requested in self._requests.items()
        )


def _none_used() -> MemoryUse:
    """Of a process that may not have started."""
    use = MemoryUse()
    use.measured(0)
    return use
