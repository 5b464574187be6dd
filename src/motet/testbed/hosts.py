"""The hosts of a testbed: machines with limits, and the front without limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from motet.domain.errors import BadInput, NotFound, UnknownName

MOST_MACHINES = 200
DEFAULT_NAME = "default"
FRONT = "front"
ALL = "all"
EQUAL = "machine"
"""The kind of machines without types."""
# The name is part of the path of Ray's sockets, which may have 107 bytes.
_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")
_HOST_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


@dataclass(frozen=True)
class Limits:
    """Limits of one host; None: unlimited.

    `cpus`: CPU seconds per second. `bandwidth_bps`: bits per second in each direction of its link.
    """

    cpus: float | None = None
    bandwidth_bps: int | None = None
    memory_bytes: int | None = None

    def changed(self, other: Limits) -> Limits:
        """Return these limits, replaced by those that `other` sets."""
        given = {name: value for name, value in vars(other).items() if value is not None}
        return replace(self, **given)


@dataclass(frozen=True)
class Host:
    """One machine of the testbed, or the front with number -1. `kind`: the name of its type."""

    number: int
    name: str
    limits: Limits = Limits()
    kind: str = EQUAL

    @property
    def is_front(self) -> bool:
        """Whether this is the front: Ray's head and the drivers, no executors, no limits."""
        return self.number < 0


FRONT_HOST = Host(-1, FRONT)


@dataclass(frozen=True)
class HostType:
    """`count` equal machines."""

    name: str
    count: int
    limits: Limits


@dataclass(frozen=True)
class Blueprint:
    """The specification of a testbed. `with_ray`: whether every host runs a Ray node."""

    name: str
    machines: tuple[Host, ...]
    with_ray: bool = True
    object_store_bytes: int = 80 * 10**6

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The front, followed by the machines."""
        return (FRONT_HOST, *self.machines)

    def changed(self, hosts: Iterable[Host], limits: Limits) -> Blueprint:
        """Return the specification with other limits on some machines."""
        numbers = {host.number for host in hosts}
        machines = (
            replace(host, limits=host.limits.changed(limits)) if host.number in numbers else host
            for host in self.machines
        )
        return replace(self, machines=tuple(machines))

    def find(self, word: str) -> Host:
        """Return a host by number or name. Raises NotFound."""
        for host in self.hosts:
            if word == host.name or (not host.is_front and word == str(host.number)):
                return host
        raise NotFound(str(UnknownName("host", word, (host.name for host in self.hosts))))

    def select(self, words: Sequence[str]) -> list[Host]:
        """Return machines by numbers or names, or `all`. Raises NotFound, BadInput."""
        if ALL in words:
            return list(self.machines)
        found = {host.number: host for host in map(self.find, words)}
        if FRONT_HOST.number in found:
            raise BadInput(
                f"{FRONT}: this host has no limits and holds Ray's head; name one of the "
                f"{len(self.machines)} machines"
            )
        return list(found.values())


def equal_machines(count: int, limits: Limits) -> tuple[Host, ...]:
    """Return machines `m0`, `m1`, ... Raises BadInput."""
    machines = machines_of([HostType("m", count, limits)], separator="")
    return tuple(replace(machine, kind=EQUAL) for machine in machines)


def machines_of(types: Sequence[HostType], separator: str = "-") -> tuple[Host, ...]:
    """Return machines of several types: `fast-0`, `fast-1`, `slow-0`, ... Raises BadInput."""
    total = sum(it.count for it in types)
    if not 1 <= total <= MOST_MACHINES:
        raise BadInput(f"{total} machines: a testbed has 1 to {MOST_MACHINES}")
    named = [(f"{it.name}{separator}{place}", it) for it in types for place in range(it.count)]
    for number, (name, _) in enumerate(named):
        _check_host_name(name, [other for other, _ in named[:number]])
    return tuple(Host(number, name, it.limits, it.name) for number, (name, it) in enumerate(named))


def check_name(name: str) -> str:
    """Return the name if it is valid for a testbed. Raises BadInput."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"--name {name}: a testbed's name has at most 12 letters (a-z) and digits and begins "
            "with a letter"
        )
    return name


def _check_host_name(name: str, taken: Sequence[str]) -> None:
    if not _HOST_NAME.fullmatch(name) or name in (FRONT, ALL):
        raise BadInput(
            f"{name!r} is not a host name; it has at most 31 letters (a-z), digits, '-' or '_', "
            f"begins with a letter and is not {FRONT!r} or {ALL!r}"
        )
    if name in taken:
        raise BadInput(f"two hosts have the name {name!r}; names are unique")
