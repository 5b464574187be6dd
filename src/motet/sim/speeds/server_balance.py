"""How much longer jobs exchange their models as one parameter server has more of them than others.

The server that holds most decides. Only of models whose tensors are known (`model_tensors`); those
of other models, and requests, of which each costs a little by itself, count as balanced.
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
"""By the name of the setting; None: every server holds as much as the others."""


def division_named(name: str) -> Divide | None:
    """Raises UnknownName."""
    if name not in DIVISIONS:
        raise UnknownName("server_balance", name, set(DIVISIONS))
    return DIVISIONS[name]


def imbalance_of(workload: Workload, divide: Divide | None) -> Imbalance:
    """How many times as long exchanging takes each of its jobs as with equal shares."""
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
