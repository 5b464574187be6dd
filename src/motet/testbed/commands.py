"""Commands that enter a host, and that start and drain its Ray node. Pure."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from motet.testbed.hosts import Host
from motet.testbed.layout import HEAD_PORT, HostLayout

ADDRESS_VARIABLE = "MOTET_ADDRESS"
"""Environment variable with the cluster's address, for `motet train`."""
# More than any job needs: jobs share machines, so Ray's CPU count must not limit placement.
LOGICAL_CPUS = 64
RAYLET = "raylet"
KIND_LABEL = "motet-kind"
"""Ray node label with the type of machine."""


def entering(
    layout: HostLayout, host: Host, members_files: Sequence[Path], command: Sequence[str]
) -> list[str]:
    """Return a command that executes `command` on a host, in the same process and under its limits.

    `ip netns exec` gives the process a private mount namespace, in which the host's own folder is
    mounted at the path of Ray's sockets; the mount ends with the process.
    """
    joins = [f"echo $$ > {shlex.quote(str(path))}" for path in members_files]
    inner = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    view = (str(layout.ray_folder_of(host)), str(layout.ray_folder))
    enter = ["ip", "netns", "exec", layout.label_of(host), "sh", "-c", inner, "sh", *view]
    return ["sh", "-c", " && ".join([*joins, f"exec {shlex.join([*enter, *command])}"])]


def environment(layout: HostLayout, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for all processes on hosts: the address of Ray and its token."""
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
    """Return the Ray node id from the command line of its raylet."""
    for argument in raylet_arguments:
        if found := re.fullmatch(r"--node[_-]id=([0-9a-f]+)", argument):
            return found[1]
    return None


def drain_ray(layout: HostLayout, node: str, notice_s: int) -> list[str]:
    """Return the command that drains a Ray node, as the autoscalers of clouds do."""
    return [
        sys.executable, "-m", "ray.scripts.scripts", "drain-node",
        f"--address={layout.head_address}", f"--node-id={node}",
        "--reason=DRAIN_NODE_REASON_PREEMPTION", "--reason-message=motet testbed reclaim",
        f"--deadline-remaining-seconds={notice_s}",
    ]  # fmt: skip


def start_ray(layout: HostLayout, host: Host, object_store_bytes: int) -> list[str]:
    """Return the command that starts the host's Ray node; the front's is the head without CPUs.

    Without processes that hosts do not need: the autoscaler and those that pass logs on.
    """
    unused = ("--include-dashboard=false", "--no-monitor")
    role = (
        ("--head", f"--port={HEAD_PORT}", "--num-cpus=0", *unused)
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
        "--include-log-monitor=false",
    ]  # fmt: skip
