"""Renders a known workload as `kubectl get workloads -A -o json` prints it.

The fields are those of `Workload` in kueue.x-k8s.io/v1beta2 (apis/kueue/v1beta2/workload_types.go).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

BEGIN = datetime(2024, 2, 28, 22, 0, tzinfo=UTC)


@dataclass(frozen=True)
class RenderedWorkload:
    """Seconds after BEGIN. `pod_sets`: (pods, GPUs of one) of each. `past_s`: of evicted runs.

    `is_admitted`: whether the object keeps its admission, with the resources of every pod set.
    """

    id: str
    submit_s: int
    wait_s: int
    run_s: int
    pod_sets: tuple[tuple[int, int], ...]
    past_s: int = 0
    queue: str = "team-a"
    is_admitted: bool = True

    @property
    def duration_s(self) -> int:
        return self.run_s + self.past_s

    @property
    def gpus(self) -> int:
        return sum(pods * gpus for pods, gpus in self.pod_sets)


def time_text(after_s: int) -> str:
    return (BEGIN + timedelta(seconds=after_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def rendered_list(jobs: Sequence[RenderedWorkload], indent: int | None = 4) -> str:
    items = [workload(job) for job in jobs]
    return json.dumps(
        {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}},
        indent=indent,
    )


def workload(job: RenderedWorkload) -> dict[str, Any]:
    namespace, name = job.id.split("/")
    status: dict[str, Any] = {"conditions": _conditions(job)}
    if job.is_admitted:
        status["admission"] = _admission(job)
    if job.past_s:
        status["accumulatedPastExecutionTimeSeconds"] = job.past_s
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "creationTimestamp": time_text(job.submit_s),
            "name": name,
            "namespace": namespace,
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name}],
        },
        "spec": {
            "active": True,
            "podSets": [
                {"count": pods, "name": f"set{number}", "template": {"spec": _pod(gpus)}}
                for number, (pods, gpus) in enumerate(job.pod_sets)
            ],
            "priority": 0,
            "queueName": "local",
        },
        "status": status,
    }


def _pod(gpus: int) -> dict[str, Any]:
    needs = {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": str(gpus)}
    return {
        "containers": [
            {"name": "train", "image": "x", "resources": {"limits": needs, "requests": needs}},
            {"name": "log", "image": "x", "resources": {}},
        ],
        "restartPolicy": "Never",
    }


def _conditions(job: RenderedWorkload) -> list[dict[str, str]]:
    start_s = job.submit_s + job.past_s + job.wait_s
    times = {
        "QuotaReserved": (start_s, "QuotaReserved"),
        "Admitted": (start_s, "Admitted"),
        "Finished": (start_s + job.run_s, "Succeeded"),
    }
    return [
        {
            "lastTransitionTime": time_text(at_s),
            "message": "",
            "reason": reason,
            "status": "True",
            "type": kind,
        }
        for kind, (at_s, reason) in times.items()
    ]


def _admission(job: RenderedWorkload) -> dict[str, Any]:
    return {
        "clusterQueue": job.queue,
        "podSetAssignments": [
            {
                "count": pods,
                "flavors": {"nvidia.com/gpu": "a100"},
                "name": f"set{number}",
                "resourceUsage": {
                    "cpu": f"{1500 * pods}m",
                    "memory": f"{2 * pods}Gi",
                    "nvidia.com/gpu": str(pods * gpus),
                },
            }
            for number, (pods, gpus) in enumerate(job.pod_sets)
        ],
    }
