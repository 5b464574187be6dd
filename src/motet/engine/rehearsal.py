"""A policy tried on a few invented jobs, where there are no jobs to try it on."""

from __future__ import annotations

from motet.domain.cluster import ClusterSpec
from motet.domain.events import Finished, Submitted, Tick
from motet.domain.policy import Policy
from motet.domain.snapshot import Queues
from motet.domain.units import SECOND_US
from motet.engine.measurements.late_fitters import late_fitted_measurements
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import CountPlanner

_REMAINING_US = 60 * SECOND_US


def rehearse_policy(policy: Policy, cluster: ClusterSpec, now_us: int) -> None:
    """Let a policy decide about jobs of one GPU and of all GPUs: that come, wait and end.

    An empty cluster rehearses nothing. Raises what the policy raises, BrokenPolicy.
    """
    gpus = int(cluster.gpus.sum())
    if not gpus:
        return
    state = ClusterState(cluster, dict(policy.memory_columns), {}, Queues())
    measurements = late_fitted_measurements()
    engine = Engine(policy, CountPlanner(), state, measurements=measurements, checks_places=True)
    sizes = {1: 1, 2: gpus, 3: 1}
    for number, size in sizes.items():
        columns = {"gpus": size, "submit_us": now_us, "remaining_us": _REMAINING_US}
        engine.step(now_us, [Submitted(number, columns)])
    engine.step(now_us + SECOND_US, [Tick()])
    engine.step(now_us + 2 * SECOND_US, [Finished(1)])
