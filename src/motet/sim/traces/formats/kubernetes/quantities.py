"""Resources of pods: `500m`, `16Gi`, and the sums over containers and pods of a job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from motet.sim.traces.cells import MOST_DEMAND, MOST_GPUS
from motet.sim.traces.problems import BadRow

_QUANTITY = re.compile(
    r"(?P<number>\d{1,18}(?:\.\d{0,9})?|\.\d{1,9})(?P<suffix>[numkMGTPE]|[KMGTPE]i)?"
    r"(?:[eE](?P<power>[+-]?\d{1,2}))?"
)
_FACTORS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{prefix}i": Decimal(1024) ** power for power, prefix in enumerate("KMGTPE", start=1)},
}
_ACCELERATORS = frozenset(("gpu", "tpu", "gaudi", "neuron", "neurondevice", "i915", "xe"))
_PART_OF_GPU = "mig-"

Resources = Mapping[str, Decimal]


@dataclass(frozen=True)
class PodNeeds:
    """Whole numbers of all pods of a job. `pods`: their number."""

    gpus: int
    cpus: int
    memory_bytes: int
    pods: int

    @classmethod
    def of(cls, resources: Resources, pods: int, gpu_resource: str | None) -> PodNeeds:
        """Rounded up. `gpu_resource`: the resource that counts as GPU; None: accelerators.

        Raises BadRow for numbers beyond the limits of the simulator.
        """
        gpus = sum(
            (
                amount
                for name, amount in resources.items()
                if (_is_accelerator(name) if gpu_resource is None else name == gpu_resource)
            ),
            Decimal(),
        )
        return cls(
            _whole("GPUs", gpus, MOST_GPUS),
            _whole("cpu", resources.get("cpu", Decimal()), MOST_DEMAND),
            _whole("memory", resources.get("memory", Decimal()), MOST_DEMAND),
            pods,
        )


def pod_quantity(name: str, value: Any) -> Decimal:
    """A quantity of Kubernetes. Raises BadRow."""
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        raise BadRow.unparsable(name, str(value), "which is not a quantity like 4, 500m or 16Gi")
    factor = _FACTORS.get(found["suffix"] or "", Decimal(1))
    return Decimal(found["number"]) * factor * Decimal(10) ** int(found["power"] or 0)


def quantities(values: Mapping[str, Any] | None) -> Resources:
    """Quantities by resource. Raises BadRow."""
    return {name: pod_quantity(name, value) for name, value in (values or {}).items()}


def total(parts: Iterable[Resources]) -> Resources:
    """The sum of every resource."""
    found: dict[str, Decimal] = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, Decimal()) + amount
    return found


def needs_of_pods(template: Mapping[str, Any], count: int) -> Resources:
    """What `count` pods of a template request.

    A pod needs the sum of its containers, or the most that one of its init containers needs, and
    its overhead. A missing request is the limit (Kubernetes, "Resource Management for Pods").
    """
    spec = template["spec"]
    needed = dict(total(_requested(container) for container in spec.get("containers") or ()))
    for container in spec.get("initContainers") or ():
        for name, amount in _requested(container).items():
            needed[name] = max(amount, needed.get(name, Decimal()))
    one = total((needed, quantities(spec.get("overhead"))))
    return {name: amount * count for name, amount in one.items()}


def _requested(container: Mapping[str, Any]) -> Resources:
    resources = container.get("resources") or {}
    return quantities({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _is_accelerator(name: str) -> bool:
    _, domain, kind = name.rpartition("/")
    return bool(domain) and (kind in _ACCELERATORS or kind.startswith(_PART_OF_GPU))


def _whole(name: str, amount: Decimal, most: int) -> int:
    if not 0 <= amount <= most:
        raise BadRow.unparsable(name, str(amount), f"which is not within 0 and {most:,}")
    return int(amount.to_integral_value(ROUND_CEILING))
