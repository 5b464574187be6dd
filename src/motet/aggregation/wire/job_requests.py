"""Requests of a worker that come once or seldom: registration and joint copies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_spec import OptimizerKind, OptimizerSpec, TensorSpec
from motet.aggregation.wire.worker_requests import checked_options, decoded_json


@dataclass(frozen=True)
class RegisterTensors:
    """The tensors of a job on one Aggregator. `numbers`: in the job's list. `workers`: their
    number. `groups`: of the optimizer, as JSON (`optimizer_groups`)."""

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.REGISTER
    rank: int
    workers: int
    optimizer: OptimizerKind
    groups: str
    numbers: tuple[int, ...]
    specs: tuple[TensorSpec, ...]

    def optimizer_spec(self) -> OptimizerSpec:
        """Raises BadMessage."""
        return OptimizerSpec(self.optimizer, tuple(map(checked_options, _list_of(self.groups))))


@dataclass(frozen=True)
class TensorsRegistered:
    """`versions`: of each tensor; -1: it has no values yet. `first_step`: the worker's."""

    versions: tuple[int, ...]
    first_step: int


@dataclass(frozen=True)
class BroadcastArrays:
    """A joint copy at the Aggregator of `tensor`: its `index`-th after `step` steps.

    The source (rank 0, or who is asked in place of it) sends the bytes, all others receive them;
    the reply comes once every worker has asked.
    """

    kind: ClassVar[AggregatorRequest] = AggregatorRequest.BROADCAST
    rank: int
    step: int
    index: int
    tensor: int
    is_source: bool

    @property
    def number(self) -> tuple[int, int]:
        """The same at all workers, also at one that has just joined."""
        return self.step, self.index


def groups_as_json(optimizer: OptimizerSpec) -> str:
    """The options of the parameter groups for `RegisterTensors`."""
    return json.dumps([dict(group) for group in optimizer.groups], separators=(",", ":"))


def _list_of(text: str) -> list[object]:
    found = decoded_json(text.encode())
    return found if isinstance(found, list) else [found]
