"""Slowdown of model exchange by unequal loads of parameter servers.

The server with the largest load determines the time. Applies to models with known tensors
(`model_tensors`); other models, and the fixed cost per request, count as balanced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from motet.domain.errors import UnknownName
from motet.domain.snapshot import UNKNOWN
from motet.placement.parameter_blocks import Division, balanced_blocks, hashed_blocks
from motet.sim.speeds.model_tensors import tensor_sizes
from motet.sim.speeds.speed_model import Imbalance, balanced
from motet.sim.workload.workload import Workload

Divide = Callable[[Sequence[int], int], Division]
DIVISIONS: Mapping[str, Divide | None] = MappingProxyType(
    {"even": None, "mxnet": hashed_blocks, "paa": balanced_blocks}
)
"""Divisions by the value of the setting; None: equal loads."""


def division_named(name: str) -> Divide | None:
    """Raises UnknownName."""
    if name not in DIVISIONS:
        raise UnknownName("server_balance", name, set(DIVISIONS))
    return DIVISIONS[name]


def imbalance_of(workload: Workload, divide: Divide | None) -> Imbalance:
    """Factor of the exchange time of each job, relative to equal loads."""
    if divide is None:
        return balanced
    names = dict(enumerate(workload.model_names))
    known: dict[tuple[int, int], float] = {}

    def imbalance(job: int, servers: int) -> float:
        model = int(workload.model[job])
        if model == UNKNOWN or servers < 1:
            return 1.0
        if (model, servers) not in known:
            sizes = tensor_sizes(names[model])
            known[model, servers] = divide(sizes, servers).imbalance if sizes else 1.0
        return known[model, servers]

    return imbalance
