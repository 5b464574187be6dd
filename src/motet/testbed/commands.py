"""What runs on a host: how a process gets there, and how Ray is started there. Pure."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from motet.testbed.hosts import Host
from motet.testbed.layout import HEAD_PORT, Layout

ADDRESS_VARIABLE = "MOTET_ADDRESS"
"""Tells `motet train` which cluster to join."""
# Jobs share machines: what Ray counts must never be what keeps one out.
LOGICAL_CPUS = 64
RAYLET = "raylet"
KIND_LABEL = "motet-kind"
"""Tells a job what type of machine a Ray node is."""


def entering(
    layout: Layout, host: Host, members_files: Sequence[Path], command: Sequence[str]
) -> list[str]:
    """The command that becomes `command` on a host: same process, all of its limits.

    `ip netns exec` gives the process a private view of the file system, in which the host's own
    folder lies where Ray looks for its sockets; the view ends with the process.
    """
    joins = [f"echo $$ > {shlex.quote(str(path))}" for path in members_files]
    inner = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    view = (str(layout.ray_folder_of(host)), str(layout.ray_folder))
    enter = ["ip", "netns", "exec", layout.label_of(host), "sh", "-c", inner, "sh", *view]
    return ["sh", "-c", " && ".join([*joins, f"exec {shlex.join([*enter, *command])}"])]


def environment(layout: Layout, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of everything on a host: where Ray is, and its token."""
    ours = {
        ADDRESS_VARIABLE: layout.head_address,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(layout.token_file),
        "RAY_TMPDIR": str(layout.folder),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_worker_prestart": "0",
        "RAY_prestart_worker_first_driver": "0",
    }
    foreign = ("RAY_ADDRESS", "RAY_AUTH_TOKEN")
    return {name: value for name, value in inherited.items() if name not in foreign} | ours


def node_in(raylet_arguments: Sequence[str]) -> str | None:
    """What Ray calls the node that a raylet serves, from its command line."""
    for argument in raylet_arguments:
        if found := re.fullmatch(r"--node[_-]id=([0-9a-f]+)", argument):
            return found[1]
    return None


def drain_ray(layout: Layout, node: str, notice_s: int) -> list[str]:
    """Tell Ray that a node will be taken away, as clouds' autoscalers do."""
    return [
        sys.executable, "-m", "ray.scripts.scripts", "drain-node",
        f"--address={layout.head_address}", f"--node-id={node}",
        "--reason=DRAIN_NODE_REASON_PREEMPTION", "--reason-message=motet testbed reclaim",
        f"--deadline-remaining-seconds={notice_s}",
    ]  # fmt: skip


def start_ray(layout: Layout, host: Host, object_store_bytes: int) -> list[str]:
    """Start the host's Ray node in the background; the front's is the head and hosts nobody."""
    role = (
        ("--head", f"--port={HEAD_PORT}", "--num-cpus=0", "--include-dashboard=false")
        if host.is_front
        else (
            f"--address={layout.head_address}",
            f"--num-cpus={LOGICAL_CPUS}",
            f"--labels={KIND_LABEL}={host.kind.rstrip('-_')}",
        )
    )
    return [
        sys.executable, "-m", "ray.scripts.scripts", "start", *role,
        f"--node-ip-address={layout.address_of(host)}", f"--node-name={host.name}",
        "--num-gpus=0", f"--object-store-memory={object_store_bytes}", "--disable-usage-stats",
    ]  # fmt: skip
