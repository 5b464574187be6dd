"""`ray start --block` as a process: the head of a cluster, or a further machine."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from motet.domain.errors import BadInput, Interrupted, Unreachable
from motet.interfaces.ray_nodes.cluster_record import (
    RayClusterRecord,
    make_token,
    node_environment,
)
from motet.interfaces.usable_hardware import AUTO, chosen_devices, cpu_count, memory_bytes
from motet.live.slots.devices import Devices, devices_of, divided_devices
from motet.live.slots.gpu_labels import label_of_gpu
from motet.runtime.backends.ray.listening import listens

_START_TIMEOUT_S, _LOOK_EVERY_S = 180.0, 0.2
_END_TIMEOUT_S = 60.0  # Ray drains a node for 30 s.
_TOLD_LINES = 5


@dataclass(frozen=True, slots=True)
class OfferedNode:
    """This machine as a node. `cpus`: of Ray; they are its slots if it offers no GPUs."""

    name: str
    cpus: int
    devices: Devices

    @classmethod
    def of(cls, name: str, slots: int | None, gpus: str) -> OfferedNode:
        """`slots`: None: one per GPU, or per CPU. `gpus`: see `chosen_devices`.

        Raises BadInput.
        """
        found = chosen_devices(gpus)
        count = slots or len(found)
        divided = divided_devices((count,), found, are_given=gpus != AUTO)
        devices = devices_of(divided[0]) if divided else ()
        return cls(name, cpu_count() if devices else count or cpu_count(), devices)

    @property
    def told(self) -> str:
        """`2 GPUs`, `8 slots`."""
        if self.devices:
            return "1 GPU" if len(self.devices) == 1 else f"{len(self.devices)} GPUs"
        return "1 slot" if self.cpus == 1 else f"{self.cpus} slots"


def started_head(folder: Path, address: str, node: OfferedNode) -> RayClusterRecord:
    """The head at `address` with the tables in `folder`: the one that runs, or a new one.

    It outlives the server, as jobs do. Raises BadInput, Unreachable with Ray's last words.
    """
    make_token(folder)
    found = RayClusterRecord.read(folder)
    if found is not None and _head_process(found) is not None:
        if found.address != address:
            raise BadInput(
                f"--head {address}: the cluster of {folder} has its head at {found.address}; end "
                "it with 'motet machine leave', or give that address"
            )
        return found
    host, _, port = address.rpartition(":")
    place = ["--head", f"--node-ip-address={host}", f"--port={port}", "--include-dashboard=false"]
    log = folder / "ray-head.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*_ray_start(node), *place],
            env=_variables(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _await_listener(process, host, int(port), log)
    record = RayClusterRecord(address, process.pid, psutil.Process(process.pid).create_time())
    record.write(folder)
    return record


def joined_node(folder: Path, node: OfferedNode) -> subprocess.Popen[bytes]:
    """A node on this machine for the cluster of `folder`; it ends with SIGTERM.

    Raises BadInput, Unreachable.
    """
    found = RayClusterRecord.read(folder)
    if found is None:
        raise Unreachable(
            f"{folder}: no cluster is recorded here; start one with 'motet server --head HOST "
            "--state-dir DIR', on storage that all machines share"
        )
    host, _, port = found.address.rpartition(":")
    if not listens(host, int(port)):
        raise Unreachable(
            f"nothing listens at {found.address}, the head of the cluster; start it again with "
            f"'motet server --head {found.address}'"
        )
    with (folder / f"ray-{node.name}.log").open("ab") as output:
        return subprocess.Popen(
            [*_ray_start(node), f"--address={found.address}"],
            env=_variables(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def stay_joined(node: subprocess.Popen[bytes]) -> None:
    """Return when Interrupted has ended the node. Raises Unreachable if it ends by itself."""
    try:
        code = node.wait()
    except Interrupted:
        node.terminate()
        node.wait()
        return
    raise Unreachable(
        f"Ray's node on this machine has ended with status {code}; its log says why, and 'motet "
        "machine join' starts it again"
    )


def remedy_of_ended_head(folder: Path, address: str) -> str:
    """How an admin gets the cluster back whose head at `address` this machine had started; empty:
    it runs, or it is not known to be one of this machine."""
    try:
        found = RayClusterRecord.read(folder)
    except BadInput:
        return ""
    is_own = found is not None and found.address == address and _is_local(address)
    if found is None or not is_own or _head_process(found) is not None:
        return ""
    return (
        "its head has ended; to start it again, end the server and start that with --head "
        f"{address}"
    )


def _is_local(address: str) -> bool:
    """Whether this machine has the host's address."""
    host = address.rpartition(":")[0]
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.bind(place)
    except OSError:
        return False
    return True


def end_head(folder: Path) -> bool:
    """End the head that runs on this machine, and with it the cluster; False: none runs."""
    found = RayClusterRecord.read(folder)
    process = None if found is None else _head_process(found)
    if process is None:
        return False
    family = [process, *process.children(recursive=True)]
    process.terminate()
    _, alive = psutil.wait_procs(family, timeout=_END_TIMEOUT_S)
    for each in alive:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    return True


def _ray_start(node: OfferedNode) -> Sequence[str]:
    labels = [f"{label_of_gpu(place)}={device}" for place, device in enumerate(node.devices)]
    return [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"),
        *(f"--node-name={node.name}", f"--num-cpus={node.cpus}"),
        f"--memory={memory_bytes()}",
        *(f"--num-gpus={len(node.devices)}", f"--labels={','.join(labels)}"),
        *(f"--temp-dir={_private_folder()}", "--log-style=record"),
    ]


def _variables(folder: Path) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, **node_environment(folder)}


def _private_folder() -> Path:
    """For Ray's sockets and logs, whose names must be short. Raises BadInput if it is another's.

    Ray opens its folder to all users: it lies in one that is closed.
    """
    folder = Path("/tmp", f"motet-ray-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    is_own = found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    if not is_own or found.st_mode & 0o077:
        raise BadInput(f"{folder}: must be a folder of yours that is closed to others (chmod 700)")
    return folder / "ray"


def _await_listener(process: subprocess.Popen[bytes], host: str, port: int, log: Path) -> None:
    give_up_s = time.monotonic() + _START_TIMEOUT_S
    while not listens(host, port):
        if process.poll() is not None or time.monotonic() > give_up_s:
            process.kill()
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise Unreachable(
                f"Ray's head at {host}:{port} did not start: {' '.join(lines[-_TOLD_LINES:])} "
                f"(all of it: {log})"
            )
        time.sleep(_LOOK_EVERY_S)


def _head_process(record: RayClusterRecord) -> psutil.Process | None:
    """None if it has ended; another process may have its number."""
    try:
        process = psutil.Process(record.pid)
        is_same = abs(process.create_time() - record.started_s) < 1.0
        return process if is_same and process.is_running() else None
    except psutil.NoSuchProcess:
        return None
