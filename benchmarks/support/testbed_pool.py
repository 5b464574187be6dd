"""Aggregators on the hosts of a testbed, one on each: a shared pool, or servers of a job's own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from motet.aggregation.control.pool_client import PoolClient
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.master.processes.launcher import ProcessLauncher
from motet.aggregation.master.service.pool_master import PoolMaster
from motet.aggregation.master.service.requests import PoolRequests
from motet.aggregation.master.service.state_file import StateFile
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.aggregation.wire.pool_address import ADDRESS_FILE, PROGRAM_SECRET_FILE, PoolAddress
from motet.domain.errors import MotetError
from motet.testbed.hosts import FRONT_HOST, Host
from motet.testbed.layout import HostLayout
from motet.transport import Endpoint, Server, new_secret, read_secret, write_secret
from support.host_cluster import on_host
from support.hosts import ROOT
from support.timed_job import TimedJob

QUOTA_BYTES = 4 << 30


class HostLauncher:
    """Implements AggregatorLauncher: each Aggregator is on a host without another one."""

    def __init__(self, layout: HostLayout, hosts: list[Host], secret_file: Path) -> None:
        self._layout, self._lock = layout, threading.Lock()
        self._launchers = {
            host.number: ProcessLauncher(secret_file, layout.address_of(host)) for host in hosts
        }
        self._hosts = {host.number: host for host in hosts}
        self._host_of: dict[int, int] = {}

    def start(self, number: int) -> str:
        """See AggregatorLauncher."""
        with self._lock:
            busy = {h for n, h in self._host_of.items() if self._launchers[h].running()}
            free = sorted(self._hosts.keys() - busy - self._starting())
            if number not in self._host_of:
                if not free:
                    raise MotetError("no host is free for another Aggregator")
                self._host_of[number] = free[0]
            host = self._hosts[self._host_of[number]]
        launcher = self._launchers[host.number]
        return on_host(self._layout, host, lambda: launcher.start(number))

    def stop(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._launcher(number).stop(number)

    def kill(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._launcher(number).kill(number)

    def await_end(self, number: int) -> None:
        """See AggregatorLauncher."""
        self._launcher(number).await_end(number)
        with self._lock:
            self._host_of.pop(number, None)

    def machine_of(self, number: int) -> str:
        """See AggregatorLauncher."""
        with self._lock:
            host = self._host_of.get(number)
        return "" if host is None else self._hosts[host].name

    def running(self) -> Mapping[int, str]:
        """See AggregatorLauncher."""
        return {n: e for each in self._launchers.values() for n, e in each.running().items()}

    def close(self) -> None:
        """End all processes."""
        for launcher in self._launchers.values():
            launcher.close()

    def _launcher(self, number: int) -> ProcessLauncher:
        with self._lock:
            host = self._host_of.get(number, next(iter(self._launchers)))
        return self._launchers[host]

    def _starting(self) -> set[int]:
        return {h for h in self._host_of.values() if not self._launchers[h].running()}


class TestbedPool:
    """What a measurement uses of a testbed. Its thread is on the front."""

    def __init__(
        self, layout: HostLayout, hosts: list[Host], servers: int, folder: Path, stack: ExitStack
    ) -> None:
        """`servers`: hosts for Aggregators; the others are workers'."""
        self._layout, self._stack, self.folder = layout, stack, folder
        self._worker_hosts = hosts[servers:]
        self._used_hosts = 0
        write_secret(folder / "pool-secret", new_secret())
        write_secret(folder / PROGRAM_SECRET_FILE, new_secret())
        self._pool_secret = read_secret(folder / "pool-secret")
        self.launcher = HostLauncher(layout, hosts[:servers], folder / "pool-secret")
        stack.callback(self.launcher.close)
        self._numbers = 1_000
        self._master: ExitStack | None = None

    @property
    def address(self) -> Path:
        """Of the shared pool."""
        return self.folder / ADDRESS_FILE

    def start_pool(self, most: int, period_s: float) -> None:
        """pMaster on the front; Aggregators come with jobs."""
        secret = read_secret(self.folder / PROGRAM_SECRET_FILE)
        settings = MasterSettings(ScalingRules(most), period_s=period_s)
        state = StateFile(self.folder / "state.json")
        self._master = self._stack.enter_context(ExitStack())
        master = self._master.enter_context(
            PoolMaster(settings, self.launcher, self._connect, state)
        )
        host = self._layout.address_of(FRONT_HOST)
        server = self._master.enter_context(Server(PoolRequests(master).handle, secret, host=host))
        PoolAddress(server.endpoint, secret).write_endpoint(self.address)

    def end_pool(self) -> None:
        """And its Aggregators."""
        assert self._master is not None
        self._master.close()
        for number in list(self.launcher.running()):
            self.launcher.stop(number)
            self.launcher.await_end(number)
        (self.folder / "state.json").unlink()

    @contextmanager
    def client(self) -> Iterator[PoolClient]:
        """Of pMaster."""
        with PoolClient.find(self.address) as client:
            yield client

    def own_servers(self, count: int, job: int, secret: bytes) -> tuple[str, ...]:
        """Parameter servers of one job."""
        endpoints = []
        for _ in range(count):
            self._numbers += 1
            endpoints.append(self.launcher.start(self._numbers))
            control = self._connect(endpoints[-1])
            control.open_job(JobAccess(job, str(job), secret, QUOTA_BYTES))
            control.close()
        return tuple(endpoints)

    def end_servers(self) -> None:
        """All of them."""
        for number in list(self.launcher.running()):
            self.launcher.stop(number)
            self.launcher.await_end(number)

    def start_worker(self, job: TimedJob) -> subprocess.Popen[bytes]:
        """On the next of the workers' hosts."""
        file = job.write(self.folder)
        return self.start([sys.executable, "-m", "support.timed_job", str(file)], {})

    def start(self, command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """A program on the next of the workers' hosts."""
        host = self._worker_hosts[self._used_hosts % len(self._worker_hosts)]
        self._used_hosts += 1
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "benchmarks")])

        def run() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command, env=os.environ | {"PYTHONPATH": paths} | dict(environment)
            )

        process = on_host(self._layout, host, run)
        self._stack.callback(process.kill)
        return process

    def _connect(self, endpoint: str) -> RemoteAggregator:
        return RemoteAggregator(Endpoint.decode(endpoint), self._pool_secret)


def wait_for(is_true: Callable[[], bool], what: str, timeout_s: float = 180.0) -> None:
    """Look four times a second. Raises MotetError."""
    waits = threading.Event()
    for _ in range(int(4 * timeout_s)):
        if is_true():
            return
        waits.wait(0.25)
    raise MotetError(f"{what} not within {timeout_s:.0f} s")
