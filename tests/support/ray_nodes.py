"""A Ray cluster of several nodes on this machine, for servers that join it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

import motet.runtime.backends.ray.environment  # noqa: F401
from motet.runtime.backends.ray.token import PrivateToken

_STARTS = 4
_HEAD = {
    "num_cpus": 0,
    "include_dashboard": False,
    "include_log_monitor": False,
    "no_monitor": True,
}
"""A head without CPUs and without processes that only an autoscaler or a person needs."""


class RayNodes:
    """Nodes `m1`, `m2`, ... beside a head without CPUs; they can be killed and added."""

    def __init__(self, cluster: Any) -> None:
        self._cluster, self._nodes = cluster, dict[str, Any]()

    @property
    def address(self) -> str:
        """For `--address`."""
        found: str = self._cluster.address
        return found

    def add(self, name: str, cpus: int, **labels: str) -> None:
        """Start a node. `labels`: with underscores for dashes."""
        values = {key.replace("_", "-"): value for key, value in labels.items()}
        self._nodes[name] = _patiently(
            lambda: self._cluster.add_node(num_cpus=cpus, node_name=name, labels=values)
        )

    def remove(self, name: str) -> None:
        """Kill a node's raylet; Ray notices it after a while."""
        node = self._nodes.pop(name)
        self._cluster.remove_node(node, allow_graceful=False)

    def drain(self, name: str, notice_s: int) -> None:
        """Give notice, as the autoscalers of clouds do for spot machines."""
        node = self._nodes[name].node_id
        subprocess.run(
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "drain-node"),
                *(f"--address={self.address}", f"--node-id={node}"),
                *("--reason=DRAIN_NODE_REASON_PREEMPTION", "--reason-message=spot"),
                f"--deadline-remaining-seconds={notice_s}",
            ],
            check=True,
        )

    def restart_head_service(self, away_s: float) -> None:
        """Kill the GCS and start it again with its tables; needs `gcs_storage`."""
        head = self._cluster.head_node
        head.kill_gcs_server()
        time.sleep(away_s)  # So long every node is without a head.
        head.start_gcs_server()

    def supervisors(self) -> list[int]:
        """Living supervisors of the nodes."""
        return self._processes("ray::Supervisor")

    def launchers(self) -> list[int]:
        """Launchers of single machines, below the supervisors."""
        return self._processes("motet.live.launcher.node")

    @contextmanager
    def taken(self, name: str, cpus: int) -> Iterator[Callable[[], bool]]:
        """CPUs of a node that another program uses meanwhile; tells whether a gang waits for it."""
        import ray
        from ray.util.placement_group import placement_group, placement_group_table

        ray.init(address=self.address, namespace="another program", logging_level="ERROR")
        try:
            node = {"ray.io/node-id": self._nodes[name].node_id}
            group = placement_group([{"CPU": cpus}], bundle_label_selector=[node])
            assert group.wait(60)
            yield lambda: any(
                each["state"] == "PENDING" for each in placement_group_table().values()
            )
        finally:
            ray.shutdown()

    def _processes(self, words: str) -> list[int]:
        """Of this cluster: its nodes are children of this process."""
        return [
            each.pid
            for each in psutil.Process().children(recursive=True)
            if words in _command_of(each)
        ]


def _command_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _patiently(start: Callable[[], Any]) -> Any:
    """Ray gives a node thirty seconds to start, which is too short on a machine under load."""
    for _ in range(_STARTS - 1):
        with suppress(Exception):
            return start()
    return start()


@contextmanager
def ray_nodes(gcs_storage: Path | None = None, **cpus: int) -> Iterator[RayNodes]:
    """A cluster whose nodes have these numbers of CPUs.

    `gcs_storage`: of the head's tables, so that its service can be killed and started again.
    """
    from ray.cluster_utils import Cluster

    token = PrivateToken()
    stored = {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": str(gcs_storage)}
    os.environ |= stored if gcs_storage else {}
    cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=_HEAD))
    found = RayNodes(cluster)
    try:
        for name, count in cpus.items():
            found.add(name, count)
        yield found
    finally:
        cluster.shutdown()
        token.discard()
        for name in stored if gcs_storage else ():
            del os.environ[name]
