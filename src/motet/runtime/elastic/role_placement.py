"""The machines that host the first workers and servers of a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RolePlacement:
    """Machines that host a worker, and machines that host a server."""

    workers: tuple[int, ...]
    servers: tuple[int, ...]

    @classmethod
    def spread(cls, machines: int, workers: int, servers: int) -> RolePlacement:
        """Workers from the first machine on, servers from the last one back."""
        return cls(tuple(range(workers)), tuple(range(machines - servers, machines)))

    @property
    def executors(self) -> list[int]:
        """Machines with a role."""
        return sorted({*self.workers, *self.servers})
