"""Which machines host a worker, and which a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Roles:
    """Which machines host a worker and which a server; an executor has its machine's number."""

    workers: tuple[int, ...]
    servers: tuple[int, ...]

    @classmethod
    def spread(cls, machines: int, workers: int, servers: int) -> Roles:
        """Workers from the first machine on, servers from the last one back."""
        return cls(tuple(range(workers)), tuple(range(machines - servers, machines)))

    @property
    def executors(self) -> list[int]:
        """Machines with a role."""
        return sorted({*self.workers, *self.servers})
