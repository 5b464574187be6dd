"""Whole tensors of a job as messages to another Aggregator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.tensor_slot import TensorSlot
from motet.aggregation.wire.job_requests import groups_as_json
from motet.aggregation.wire.peer_requests import CopyTensors
from motet.aggregation.wire.tensor_image import TensorImage, encode_images
from motet.domain.arrays import Array
from motet.domain.errors import NotFound

COPY_BYTES = 4 << 20
"""Values and states that one message copies, unless a tensor is larger."""


def copy_message(
    tenant: Tenant,
    slots: Sequence[TensorSlot],
    replicas: Sequence[str],
    *,
    are_replicas: bool,
    without_arrays: Collection[int] = (),
) -> tuple[CopyTensors, list[Array]]:
    """Whole tensors, with views of their arrays; call it with the job's lock."""
    optimizer, workers = tenant.tensors.optimizer, tenant.tensors.workers
    assert optimizer is not None
    images, buffers = encode_images(
        [
            TensorImage(slot.number, slot.version, None)
            if slot.number in without_arrays
            else slot.image()
            for slot in slots
        ]
    )
    message = CopyTensors(
        tenant.access.job,
        tuple(slot.number for slot in slots),
        tuple(slot.spec for slot in slots),
        optimizer.kind,
        groups_as_json(optimizer),
        () if workers is None else workers.changes,
        images.decode(),
        are_replicas,
        tuple(replicas),
    )
    return message, buffers


def tensor_groups(
    tenant: Tenant, numbers: Sequence[int], limit_bytes: float
) -> Iterator[list[int]]:
    """Whole tensors, at least one, with values and states of so many bytes at most if possible.
    Raises NotFound."""
    with tenant.lock:
        slots = tenant.tensors.slots
        missing = [n for n in numbers if n not in slots]
        if missing:
            raise NotFound(f"tensor {missing[0]} of job {tenant.access.job} is not here")
        sizes = {n: slots[n].memory_bytes for n in numbers}
    group: list[int] = []
    size_bytes = 0
    for number in numbers:
        if group and size_bytes + sizes[number] > limit_bytes:
            yield group
            group, size_bytes = [], 0
        group.append(number)
        size_bytes += sizes[number]
    if group:
        yield group
