"""Numbers of machines, workers and servers from the options that were given."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.errors import BadInput


@dataclass(frozen=True)
class ClusterShape:
    """Numbers of machines, workers and servers."""

    machines: int
    workers: int
    servers: int

    @classmethod
    def of(cls, machines: int | None, workers: int | None, servers: int | None) -> ClusterShape:
        """Defaults for the options that are not given. Raises BadInput.

        Nothing given: 2 machines, each with both roles. Only machines: both roles on all of them.
        Machines and one role: the other role gets the remaining machines, at least one. Roles
        without machines: separate machines for both; a role that is not given has 1.
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
        """The first configuration of a job with `--auto` on `present` machines. Raises BadInput.

        Nothing given: one server; workers on the other machines.
        """
        _require_positive(workers=workers, servers=servers)
        if servers is None:
            servers = 1 if workers is None else max(1, present - workers)
        return cls(present, workers or max(1, present - servers), servers)


def _require_positive(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BadInput(f"--{name} {count}: must be at least 1")
