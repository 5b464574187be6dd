"""How many machines, workers and servers, from the counts that were given."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.errors import BadInput


@dataclass(frozen=True)
class ClusterShape:
    """Counts of machines, and of machines in each role."""

    machines: int
    workers: int
    servers: int

    @classmethod
    def of(cls, machines: int | None, workers: int | None, servers: int | None) -> ClusterShape:
        """Fill in what is not given.

        Nothing given: 2 machines, each with both roles. Only machines: both roles on all. Machines
        and one role: the other role gets the machines that are left, at least one. Roles without
        machines: each on machines of its own; a role not given is 1. Raises BadInput.
        """
        _require_positive(machines=machines, workers=workers, servers=servers)
        if machines is None:
            if workers is None and servers is None:
                return cls(2, 2, 2)
            return cls((workers or 1) + (servers or 1), workers or 1, servers or 1)
        if workers is None and servers is None:
            return cls(machines, machines, machines)
        workers = workers or max(1, machines - (servers or 0))
        return cls(machines, workers, servers or max(1, machines - workers))

    @classmethod
    def to_begin_with(cls, present: int, workers: int | None, servers: int | None) -> ClusterShape:
        """Of a job that configures itself, on the machines that are there.

        Nothing given: one serves, the others work. Raises BadInput.
        """
        _require_positive(workers=workers, servers=servers)
        if servers is None:
            servers = 1 if workers is None else max(1, present - workers)
        return cls(present, workers or max(1, present - servers), servers)


def _require_positive(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BadInput(f"--{name} {count}: must be at least 1")
