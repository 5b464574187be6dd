"""Executors on the hosts of a testbed without Ray: forks of a process on each host. Needs root.

They share the memory of what they import, so that many jobs fit on one machine. The process of a
host also loads the kernels of all applications that will run there: an executor that loaded them
itself took half a second of CPU time for it, which is 2.5 s on a host with 0.2 CPUs, at each start.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from motet.runtime.backends.local.executors import LocalExecutor
from motet.runtime.backends.local.template_client import TemplateClient
from motet.runtime.backends.local.template_messages import ExecutorStart
from motet.runtime.backends.local.template_process import TemplateProcess
from motet.runtime.controller.ports import ExecutorHandle, LaunchRequest
from motet.runtime.core.machine import Machine
from motet.runtime.executor.pickling import pickle_by_value
from motet.runtime.executor.shared_machine import SharedMachine, job_label
from motet.testbed.hosts import FRONT_HOST, Host
from motet.testbed.layout import HostLayout
from motet.testbed.machine import NAMESPACES, require_testbed_machine
from motet.testbed.state import read_state

_LIBC = ctypes.CDLL(None, use_errno=True)
_NETWORK = 0x40000000  # CLONE_NEWNET
Made = TypeVar("Made")


class HostMachines:
    """The hosts of a testbed, each with a process that forks executors; made by `host_machines`."""

    def __init__(self, layout: HostLayout, hosts: Sequence[Host], arbiters: Path) -> None:
        self.front_address = layout.address_of(FRONT_HOST)
        self.addresses = [layout.address_of(host) for host in hosts]
        self._arbiters = arbiters
        self.templates = [TemplateClient(_template_on(layout, host)) for host in hosts]

    def __len__(self) -> int:
        return len(self.templates)

    def cluster(self, numbers: Sequence[int], *, interleaves: bool) -> HostCluster:
        """Some hosts as the machines 0, 1, ... of a job."""
        return HostCluster(self, tuple(numbers), interleaves)

    def arbiter(self, number: int) -> Path:
        """The address of a host's arbiter."""
        return self._arbiters / f"m{number}"

    def preload(self, applications: Sequence[str]) -> None:
        """Load the kernels of each "module:Class" on all hosts; returns when that is done."""
        for template in self.templates:
            for application in applications:
                template.preload(application)
        for address, template in zip(self.addresses, self.templates, strict=True):
            # A template answers in the order of requests.
            LocalExecutor(0, template.fork(ExecutorStart(0, os.urandom(32), host=address))).kill()

    def close(self) -> None:
        """End all executors."""
        for template in self.templates:
            template.close()


class HostCluster:
    """An `ExecutorCluster` for one job. `interleaves`: it takes turns with others there."""

    def __init__(self, hosts: HostMachines, numbers: tuple[int, ...], interleaves: bool) -> None:
        self._hosts, self._numbers, self._interleaves = hosts, numbers, interleaves
        self._machines = tuple(Machine(place, f"m{n}") for place, n in enumerate(numbers))

    @property
    def machine_count(self) -> int:
        """How many machines a job may use at a time."""
        return len(self._machines)

    @property
    def host(self) -> str:
        """The controller is on the front."""
        return self._hosts.front_address

    def machines(self) -> Sequence[Machine]:
        """All machines by number."""
        return self._machines

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """See ExecutorCluster."""
        pickle_by_value(request.app)
        started: list[LocalExecutor] = []
        try:
            for place in request.machines:
                number = self._numbers[place]
                start = ExecutorStart(
                    place,
                    request.secret,
                    self._shared(number, request),
                    self._hosts.addresses[number],
                )
                process = self._hosts.templates[number].fork(start, request.is_given_up)
                started.append(LocalExecutor(place, process))
            for warm in [executor.warm_up(request.app) for executor in started]:
                warm.result()
        except BaseException:
            for executor in started:
                executor.kill()
            raise
        return {executor.number: executor for executor in started if executor.endpoint()}

    def _shared(self, number: int, request: LaunchRequest) -> SharedMachine | None:
        if not self._interleaves:
            return None
        return SharedMachine(self._hosts.arbiter(number), job_label(request.job, request.secret))


@contextmanager
def host_machines(name: str, applications: Sequence[str] = ()) -> Iterator[HostMachines]:
    """Of a testbed that is up, without Ray. This thread is on the front in the meantime.
    `applications`: see `HostMachines.preload`.

    Threads that it starts are, too; those of before are not.
    """
    layout = HostLayout(name)
    blueprint = read_state(layout).blueprint
    with tempfile.TemporaryDirectory(prefix="motet-arbiters-") as folder, on_front(layout):
        machines = HostMachines(layout, blueprint.machines, Path(folder))
        try:
            machines.preload(applications)
            yield machines
        finally:
            machines.close()


@contextmanager
def on_front(layout: HostLayout) -> Iterator[None]:
    """This thread, and those that it starts, are in the network of the front in the meantime."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter(NAMESPACES / layout.label_of(FRONT_HOST))
        yield
    finally:
        _set_network(before)
        os.close(before)


def _template_on(layout: HostLayout, host: Host) -> TemplateProcess:
    """A process is started on the host by a thread that is there."""
    made = on_host(layout, host, TemplateProcess)
    for file in require_testbed_machine().members_files(layout.label_of(host)):
        file.write_text(str(made.process_id))
    return made


def on_host(layout: HostLayout, host: Host, action: Callable[[], Made]) -> Made:
    """What an action returns that a thread in the host's network carries out."""
    found: Future[Made] = Future()

    def run() -> None:
        try:
            _enter(NAMESPACES / layout.label_of(host))
            found.set_result(action())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run).start()
    return found.result()


def _enter(namespace: Path) -> None:
    descriptor = os.open(namespace, os.O_RDONLY)
    with contextlib.closing(os.fdopen(descriptor, "rb")):
        _set_network(descriptor)


def _set_network(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
