"""Which parameters are in one bucket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from motet.aggregation.agent.collected_requests import ALONE_FROM_BYTES, PUSH_BATCH_BYTES
from motet.aggregation.agent.gradient_service import GradientService
from motet.torch.buckets.slot_bucket import SlotBucket
from motet.torch.slots import Slot

FEWEST = 4
"""Fewer parameters are not worth a bucket."""


class Buckets:
    """Those of a program. `of`: by the number of a parameter; most have none."""

    def __init__(self, every: Sequence[SlotBucket]) -> None:
        self.every = every
        self.of = {number: bucket for bucket in every for number in bucket.numbers}

    def parts(self, slots: Iterable[Slot]) -> list[Slot | SlotBucket]:
        """The buckets, and the parameters that are in none."""
        return [*dict.fromkeys(self.of.get(slot.number, slot) for slot in slots)]

    def members(self, numbers: Set[int]) -> list[tuple[SlotBucket, tuple[int, ...]]]:
        """The buckets of some of these parameters, with their numbers."""
        found = [(it, tuple([n for n in it.numbers if n in numbers])) for it in self.every]
        return [(bucket, members) for bucket, members in found if members]


def buckets_of(
    service: GradientService, slots: Sequence[Slot], *, of_neighbours: bool = False
) -> Buckets:
    """Of the small parameters on the CPU that are trained, in the order of their numbers. A bucket
    fills one message at most, so that others leave while `backward` goes on.

    `of_neighbours`: no other parameter is between those of a bucket: what the program uses first
    comes first.
    """
    runs: dict[tuple[object, ...], list[Slot]] = defaultdict(list)
    others = 0
    for slot in slots:
        if _is_small(slot):
            kind = slot.group, slot.parameter.dtype, slot.wire_dtype
            runs[*kind, others if of_neighbours else 0].append(slot)
        else:
            others += 1
    found = [message for run in runs.values() for message in _messages(run)]
    return Buckets([SlotBucket(service, message) for message in found if len(message) >= FEWEST])


def _is_small(slot: Slot) -> bool:
    parameter = slot.parameter
    size_bytes = parameter.numel() * parameter.dtype.itemsize
    is_trained = slot.is_stepped and parameter.requires_grad
    return is_trained and slot.is_direct and 0 < size_bytes < ALONE_FROM_BYTES


def _messages(slots: Sequence[Slot]) -> Iterator[list[Slot]]:
    found: list[Slot] = []
    size_bytes = 0
    for slot in slots:
        own_bytes = slot.parameter.numel() * slot.wire_dtype.itemsize
        if found and size_bytes + own_bytes > PUSH_BATCH_BYTES:
            yield found
            found, size_bytes = [], 0
        found.append(slot)
        size_bytes += own_bytes
    if found:
        yield found
