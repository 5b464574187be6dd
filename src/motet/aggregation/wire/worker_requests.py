"""Requests of one worker about its tensors in one step: what a training sends all the time.

The head has a fixed part, then the tensors' numbers and counts, then what the kind adds.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_spec import GroupOptions
from motet.runtime.wire.errors import BadMessage

_HEAD = struct.Struct("<iqII")
_ENTRY_BYTES = 8
_WHOLE, _HALVED = b"\x00", b"\x01"


@dataclass(frozen=True)
class WorkerRequest:
    """`tensors`: numbers. `counts`: how often the worker has pushed each of them in the step."""

    kind: ClassVar[AggregatorRequest]
    rank: int
    step: int
    tensors: tuple[int, ...]
    counts: tuple[int, ...]

    def encode(self) -> bytes:
        """The head; tensors travel in the payload, in the same order."""
        entries = np.array(self.tensors + self.counts, np.int32).tobytes()
        extra = self.encode_extra()
        return _HEAD.pack(self.rank, self.step, len(self.tensors), len(extra)) + entries + extra

    def encode_extra(self) -> bytes:
        """What the kind adds."""
        return b""

    @classmethod
    def decode(cls, head: bytes | memoryview) -> Self:
        """The inverse of `encode`. Raises BadMessage."""
        if len(head) < _HEAD.size:
            raise BadMessage(f"{cls.__name__}: a head of {len(head)} bytes is too short")
        rank, step, count, extra_bytes = _HEAD.unpack_from(head)
        entries_end = _HEAD.size + count * _ENTRY_BYTES
        if len(head) != entries_end + extra_bytes:
            raise BadMessage(f"{cls.__name__}: a head of {len(head)} bytes for {count} tensors")
        entries = np.frombuffer(head, np.int32, 2 * count, _HEAD.size).tolist()
        tensors, counts = tuple(entries[:count]), tuple(entries[count:])
        extra = cls.decode_extra(bytes(head[entries_end:]))
        return cls(rank=rank, step=step, tensors=tensors, counts=counts, **extra)

    @classmethod
    def decode_extra(cls, data: bytes) -> dict[str, Any]:
        """The inverse of `encode_extra`, as arguments. Raises BadMessage."""
        if data:
            raise BadMessage(f"{cls.__name__}: {len(data)} bytes too many")
        return {}


@dataclass(frozen=True)
class HalvableRequest(WorkerRequest):
    """`is_halved`: tensors of float32 travel as bfloat16."""

    is_halved: bool = False

    def encode_extra(self) -> bytes:
        """One byte, if they are halved."""
        return _HALVED if self.is_halved else b""

    @classmethod
    def decode_extra(cls, data: bytes) -> dict[str, Any]:
        """See WorkerRequest."""
        if data not in (b"", _HALVED):
            raise BadMessage(f"{cls.__name__}: {data[:20]!r} names no type of numbers")
        return {"is_halved": data == _HALVED}


@dataclass(frozen=True)
class FinishStep(WorkerRequest):
    """The worker's part of the step is complete: a count of 0 stands for zeros.

    `groups`: the options of the parameter groups, from rank 0 (others: None). `is_applied`:
    whether the Aggregators run the optimizer.
    """

    kind = AggregatorRequest.FINISH
    is_applied: bool = True
    groups: tuple[GroupOptions, ...] | None = None

    def encode_extra(self) -> bytes:
        """JSON, as Python writes floating-point numbers: exact."""
        return json.dumps([self.is_applied, self.groups], separators=(",", ":")).encode()

    @classmethod
    def decode_extra(cls, data: bytes) -> dict[str, Any]:
        """See WorkerRequest."""
        match decoded_json(data):
            case [bool(is_applied), None]:
                return {"is_applied": is_applied, "groups": None}
            case [bool(is_applied), list(groups)]:
                return {"is_applied": is_applied, "groups": tuple(map(checked_options, groups))}
        raise BadMessage(f"FinishStep: {data[:60]!r} has no options")


@dataclass(frozen=True)
class PushGradients(HalvableRequest):
    """Gradients; answered when they are used, so that their memory is not copied. `ends_step`:
    they are the worker's last ones of these tensors, as if a FinishStep with the same `groups` and
    `is_applied` followed.
    """

    kind = AggregatorRequest.PUSH
    ends_step: bool = False
    is_applied: bool = True
    groups: tuple[GroupOptions, ...] | None = None

    @property
    def end(self) -> FinishStep:
        """What would follow."""
        head = self.rank, self.step, self.tensors, self.counts
        return FinishStep(*head, self.is_applied, self.groups)

    def encode_extra(self) -> bytes:
        """A byte if they are halved or end the step, and how it ends."""
        if not self.ends_step:
            return super().encode_extra()
        return (_HALVED if self.is_halved else _WHOLE) + self.end.encode_extra()

    @classmethod
    def decode_extra(cls, data: bytes) -> dict[str, Any]:
        """See WorkerRequest."""
        if len(data) <= 1:
            return super().decode_extra(data)
        if data[:1] not in (_WHOLE, _HALVED):
            raise BadMessage(f"{cls.__name__}: {data[:20]!r} names no type of numbers")
        end = FinishStep.decode_extra(data[1:])
        return {"is_halved": data[:1] == _HALVED, "ends_step": True, **end}


@dataclass(frozen=True)
class PullValues(WorkerRequest):
    """Values after `step` steps; answered once all tensors have them. Counts are zeros."""

    kind = AggregatorRequest.PULL


@dataclass(frozen=True)
class PullMeans(HalvableRequest):
    """Means of the step's gradients; the worker's own are final with it."""

    kind = AggregatorRequest.MEAN


def decoded_json(data: bytes | memoryview) -> Any:
    """Any JSON. Raises BadMessage."""
    try:
        return json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"{bytes(data[:40])!r} is no JSON: {type(error).__name__}") from error


def checked_options(options: Any) -> Mapping[str, Any]:
    """Options of a parameter group as they came as JSON. Raises BadMessage."""
    if not isinstance(options, dict):
        raise BadMessage(f"{str(options)[:60]} are no options of a parameter group")
    return {name: _option(name, value) for name, value in options.items()}


def _option(name: str, value: Any) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case [int() | float() as first, int() | float() as second]:
            return (first, second)
    raise BadMessage(f"option {name[:40]!r} has the value {str(value)[:40]!r}")
