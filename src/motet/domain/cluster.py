"""The machines of a cluster, as columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput

_UNIFORM = re.compile(r"(\d+)x(\d+)")
MOST_MACHINES = 1_000_000


@dataclass(frozen=True, eq=False)
class ClusterSpec:
    """`names`: one per machine; every other column has its length.

    `type`: index into `type_names` (GPU generation). `rack`: machines with the same number share a
    switch. `cpus`, `memory_bytes`, `bandwidth_bps` of the machine's link: 0 where unknown, which
    means no limit.
    """

    names: tuple[str, ...]
    gpus: Ints
    type_names: tuple[str, ...]
    type: Ints
    rack: Ints
    cpus: Ints
    memory_bytes: Ints
    bandwidth_bps: Ints

    @classmethod
    def of(
        cls,
        gpus: Any,
        *,
        names: tuple[str, ...] | None = None,
        types: list[str] | None = None,
        rack: Any = 0,
        cpus: Any = 0,
        memory_bytes: Any = 0,
        bandwidth_bps: Any = 0,
    ) -> Self:
        """A cluster from columns; scalars apply to every machine."""
        counts = np.asarray(gpus, dtype=np.int64)
        size = len(counts)
        kinds = types or ["gpu"] * size
        type_names = tuple(dict.fromkeys(kinds))

        def column(values: Any) -> Ints:
            return np.broadcast_to(np.asarray(values, dtype=np.int64), (size,)).copy()

        return cls(
            names or tuple(f"m{number}" for number in range(size)),
            counts,
            type_names,
            column([type_names.index(kind) for kind in kinds]),
            column(rack),
            column(cpus),
            column(memory_bytes),
            column(bandwidth_bps),
        )

    @classmethod
    def uniform(cls, machines: int, gpus: int) -> Self:
        """`machines` equal machines in one rack."""
        return cls.of(np.full(machines, gpus))

    @classmethod
    def parse(cls, text: str) -> Self:
        """`15x4`: 15 machines of 4 GPUs. Raises BadInput."""
        match = _UNIFORM.fullmatch(text.strip())
        if match is None:
            raise BadInput(f"--cluster {text}: write MACHINESxGPUS, for example 15x4, or a file")
        machines, gpus = int(match[1]), int(match[2])
        if not 1 <= machines <= MOST_MACHINES or gpus < 1:
            raise BadInput(
                f"--cluster {text}: a cluster has 1 to {MOST_MACHINES:,} machines of at least 1 GPU"
            )
        return cls.uniform(machines, gpus)

    def with_machine(
        self, name: str, gpus: int, cpus: int = 0, memory_bytes: int = 0
    ) -> ClusterSpec:
        """This cluster and one more machine of its first type, of which nothing else is known."""
        return ClusterSpec(
            (*self.names, name),
            np.append(self.gpus, gpus),
            self.type_names or ("gpu",),
            *(
                np.append(column, value)
                for column, value in (
                    (self.type, 0),
                    (self.rack, 0),
                    (self.cpus, cpus),
                    (self.memory_bytes, memory_bytes),
                    (self.bandwidth_bps, 0),
                )
            ),
        )

    def with_size(self, machine: int, cpus: int, memory_bytes: int) -> ClusterSpec:
        """This cluster with other CPUs and memory in a machine."""
        of_cpus, of_memory = self.cpus.copy(), self.memory_bytes.copy()
        of_cpus[machine], of_memory[machine] = cpus, memory_bytes
        return replace(self, cpus=of_cpus, memory_bytes=of_memory)

    @property
    def size(self) -> int:
        """Number of machines."""
        return len(self.names)

    @property
    def gpu_count(self) -> int:
        """Number of GPUs."""
        return int(self.gpus.sum())
