"""The best configuration of a job: the data of its document, summary and figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from motet.cruise.search.solver import Choice, CostCurve
from motet.cruise.search.worker_gain import WorkerGain
from motet.estimate.epoch_cost import Fleet, Profile


@dataclass(frozen=True)
class AsItRan:
    """The configuration of the run that was profiled, on its own machines."""

    machines: int
    workers: int
    servers: int
    predicted_s: float
    measured_s: float


class TypePart(NamedTuple):
    """Roles and blocks of one type's machines. Blocks: fewest and most on one of them."""

    name: str
    machines: int
    workers: int
    servers: int
    data_blocks: tuple[int, int]
    model_blocks: tuple[int, int]


@dataclass(frozen=True)
class PlannedJob:
    """A planned job; `roles`: separate or both."""

    profile: Profile
    fleet: Fleet
    roles: str
    best: Choice
    curve: CostCurve
    run: AsItRan | None

    @property
    def workers(self) -> int:
        """|w| of the best configuration."""
        return self.best.configuration.worker_count

    @property
    def servers(self) -> int:
        """|s| of the best configuration."""
        return self.best.configuration.server_count

    @property
    def gain(self) -> WorkerGain:
        """Up to which number more workers pay."""
        return WorkerGain.of(self.profile, self.fleet, self.curve)

    @property
    def recommended_s(self) -> float:
        """The predicted epoch of what is recommended: `best`, or one machine alone if that is not
        slower."""
        return min(self.best.epoch_s, self.gain.alone_s)

    def parts(self) -> list[TypePart]:
        """Roles and blocks of every type."""
        data = np.array(self.best.configuration.data_blocks)
        model = np.array(self.best.configuration.model_blocks)
        made = []
        for number, kind in enumerate(self.fleet.types):
            mine = self.fleet.type_of == number
            working, serving = data[mine & (data > 0)], model[mine & (model > 0)]
            made.append(
                TypePart(
                    *(kind.name, kind.count, len(working), len(serving)),
                    *(_range(working.tolist()), _range(serving.tolist())),
                )
            )
        return made

    def document(self) -> dict[str, Any]:
        """The fields of `motet plan --json`."""
        return {
            "machines": self.fleet.size,
            "roles": self.roles,
            "workers": self.workers,
            "servers": self.servers,
            "epoch_s": self.best.epoch_s,
            "recommended": self._recommended(),
            "types": [
                {**part._asdict(), "comp_s_per_instance": kind.comp_s_per_instance}
                for part, kind in zip(self.parts(), self.fleet.types, strict=True)
            ],
            "bandwidth_bytes_per_s": [list(row) for row in self.fleet.bandwidth_bytes_per_s],
            "configuration": asdict(self.best.configuration),
            "curve": {
                "workers": self.curve.workers.tolist(),
                "epoch_s": self.curve.epoch_s.tolist(),
            },
            "worker_gain": asdict(self.gain),
            "profile": asdict(self.profile),
            "run": None if self.run is None else asdict(self.run),
        }

    def _recommended(self) -> dict[str, Any]:
        size = (self.fleet.size, self.workers, self.servers) if self.gain.pays else (1, 1, 1)
        names = ("machines", "workers", "servers")
        return {**dict(zip(names, size, strict=True)), "epoch_s": self.recommended_s}


def _range(blocks: list[int]) -> tuple[int, int]:
    return (min(blocks), max(blocks)) if blocks else (0, 0)
