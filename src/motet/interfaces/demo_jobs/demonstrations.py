"""The demonstrations of `motet demo`: a cluster, a policy, and jobs that show what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motet.interfaces.demo_jobs.workload import Arrival, demo_workload


@dataclass(frozen=True)
class Demonstration:
    """`settings`: of the policy. `arrivals`: the jobs, for an existing folder in which they run.

    `other`: the policy that is simulated with the same jobs; None: that needs their run times
    alone, which are not known of jobs that shared machines.
    """

    cluster: str
    policy: str
    settings: Mapping[str, str]
    arrivals: Callable[[Path], Sequence[Arrival]]
    other: str | None


def shared_workload(workdir: Path) -> list[Arrival]:
    """Trainings on any number of machines, of several applications, in the order of their
    arrival."""
    jobs: list[tuple[float, str, str, str, int, dict[str, float]]] = [
        (0, "topics", "lda", "pydoc", 600, {"topics": 20}),
        (2, "clusters", "kmeans", "digits", 1500, {}),
        (4, "parts", "nmf", "digits-ratings", 600, {"rank": 32}),
        (10, "digits", "mlr", "digits", 2000, {}),
        (18, "topics-2", "lda", "pydoc", 400, {"topics": 40}),
        (26, "clusters-2", "kmeans", "digits", 1000, {}),
        (34, "parts-2", "nmf", "digits-ratings", 500, {"rank": 16}),
        (42, "digits-2", "mlr", "digits", 1500, {"l2": 0.001}),
    ]
    return [
        Arrival(at_s, _training(name, app, data, epochs, settings, workdir))
        for at_s, name, app, data, epochs, settings in jobs
    ]


def _training(
    name: str, app: str, data: str, epochs: int, settings: Mapping[str, float], workdir: Path
) -> dict[str, Any]:
    """It trains all of its epochs."""
    program = {"kind": "ps", "app": app, "data": data, "set": {**settings, "tol": 0}}
    return {
        "name": name,
        **program,
        "machines": "any",
        "epochs": epochs,
        "workdir": str(workdir),
    }


_QUEUES = Demonstration(
    "2x2", "tiresias-las", {"thresholds": "20", "quantum_s": "2"}, demo_workload, "fifo"
)
_SHARED = Demonstration("2x1", "harmony", {"check_s": "3"}, shared_workload, None)
DEMONSTRATIONS: Mapping[str, Demonstration] = {each.policy: each for each in (_QUEUES, _SHARED)}


def demonstration_of(policy: str) -> Demonstration:
    """The jobs to look at under a policy: of most of them those that wait for each other."""
    return DEMONSTRATIONS.get(policy, _QUEUES)
