"""Clusters with jobs, and decisions about them, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import Placement, Queues
from motet.domain.wait import Wait
from motet.engine.state.cluster_state import ClusterState


def on(machine: int, gpus: int) -> Placement:
    return Placement((machine,), (gpus,))


def state_with(
    *jobs: dict[str, int],
    cluster: ClusterSpec,
    held: dict[int, Placement] | None = None,
    memory: dict[str, int] | None = None,
) -> ClusterState:
    """Jobs by their columns, numbered from 10 on; `held`: GPUs of those that run, by number."""
    state = ClusterState(cluster, memory or {}, {}, Queues())
    for number, columns in enumerate(jobs, 10):
        state.submitted({"number": number, **columns})
    for number, place in (held or {}).items():
        state.started(number, place, sum(place.counts), 0)
    return state


def decision(gpus: Sequence[int], order: Sequence[int] | None = None, **others: Any) -> Decision:
    """`order`: rows in the policy's order, by default that of the table."""
    allocated, size = np.array(gpus, dtype=np.int64), len(gpus)
    position = np.argsort(np.arange(size) if order is None else np.array(order))
    code = np.where(allocated > 0, int(Wait.RUNS), int(Wait.TOO_FEW_GPUS))
    return Decision(allocated, Reasons(code, np.zeros(size, dtype=np.int64), position), **others)


def rows(*values: int) -> Any:
    return np.array(values, dtype=np.int64)
