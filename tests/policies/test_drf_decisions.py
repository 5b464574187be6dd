"""The compiled filling decides what the plain one does, to the last reason and share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from drf_oracle import drf_decision
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Queues, Snapshot
from motet.policies.drf import Drf
from policy_snapshots import snapshot

NAMES = ("a", "b", "c/x", "c/y", "c", "d/e/f", "d/e/g", "d/h")
WEIGHTS = {"a": 2.0, "c": 3.0, "d/e": 0.5, "c/x": 1.5, "*": 1.25}
CLUSTERS = (
    ClusterSpec.of([4] * 5),
    ClusterSpec.of([4] * 5, cpus=13, memory_bytes=70),
    ClusterSpec.of([4] * 5, cpus=[9, 9, 9, 9, 0], memory_bytes=70),
)
counts = st.integers(1, 4)
job = st.fixed_dictionaries(
    {
        "queue": st.integers(UNKNOWN, len(NAMES) - 1),
        "submit_us": st.integers(0, 3),
        "min_workers": counts,
        "more_workers": st.integers(0, 4),
        "min_servers": st.integers(0, 2),
        "more_servers": st.integers(0, 3),
        "server_gpus": st.integers(0, 2),
        "worker_gpus": st.integers(1, 2),
        "cpus": st.integers(0, 12),
        "memory_bytes": st.integers(0, 90),
        "held_gpus": st.sampled_from([0, 0, 1, 2]),
        "is_elastic": st.booleans(),
    }
)


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rigid jobs have as many workers and servers at most as at least. Numbers descend."""
    columns = {name: np.array([int(row[name]) for row in rows]) for name in rows[0]}
    is_elastic = columns.pop("is_elastic")
    for role in ("worker", "server"):
        more = columns.pop(f"more_{role}s") * is_elastic
        columns[f"max_{role}s"] = columns[f"min_{role}s"] + more
        columns[f"{role}s"] = columns[f"min_{role}s"] + more // 2
    servers_gpus = columns["servers"] * columns["server_gpus"]
    columns["gpus"] = columns["workers"] * columns["worker_gpus"] + servers_gpus
    columns["number"] = np.arange(len(rows))[::-1]
    return columns


def assert_alike(found: Decision, wanted: Decision) -> None:
    for name in ("gpus", "workers", "servers"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), name)
    for name in ("code", "position", "measure", "bar"):
        values = getattr(found.reasons, name), getattr(wanted.reasons, name)
        np.testing.assert_array_equal(*values, name)
    refused = found.reasons.code != 0
    free = found.reasons.free_gpus[refused], wanted.reasons.free_gpus[refused]
    np.testing.assert_array_equal(*free)


def crowd(rows: list[dict[str, Any]], cluster: ClusterSpec) -> Snapshot:
    seen = snapshot(cluster, len(rows), memory={}, **columns_of(rows))
    return replace(seen, queues=Queues.without_quotas(NAMES))


@settings(max_examples=examples(300))
@given(
    rows=st.lists(job, min_size=1, max_size=14),
    cluster=st.sampled_from(CLUSTERS),
    is_weighted=st.booleans(),
    preemptive=st.booleans(),
)
def test_compiled_and_plain_filling_decide_alike(
    rows: list[dict[str, Any]], cluster: ClusterSpec, is_weighted: bool, preemptive: bool
) -> None:
    seen, weights = crowd(rows, cluster), WEIGHTS if is_weighted else {}
    text = ",".join(f"{name}:{weight}" for name, weight in weights.items())
    wanted = drf_decision(seen, weights, preemptive=preemptive)
    assert_alike(Drf(text, preemptive).decide(seen), wanted)
