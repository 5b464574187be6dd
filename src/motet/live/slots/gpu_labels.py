"""Labels by which a node of Ray tells the GPUs that are its slots."""

from __future__ import annotations

from collections.abc import Mapping

from motet.live.slots.devices import Devices


def label_of_gpu(place: int) -> str:
    """The label whose value names the GPU at this place among the node's slots."""
    return f"motet.io/gpu-{place}"


def labelled_devices(labels: Mapping[str, str], count: int) -> Devices:
    """The GPUs of a node with `count` of them; without labels, the first ones of the machine."""
    return tuple(labels.get(label_of_gpu(place), str(place)) for place in range(count))
