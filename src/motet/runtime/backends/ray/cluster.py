"""A Ray cluster as machines for jobs.

Ray gives processes, gang placement (placement groups) and failure detection; bulk bytes and the
mini-batch loop never go through it. `embedded` starts Ray inside this process's life: its N
machines are logical (one custom resource each). `join` uses a running cluster: each of its nodes is
one machine, and an executor is started on its machine's node and nowhere else.
"""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import contextlib
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import wait
from typing import Self

import ray

from motet.domain.errors import BadInput, Unreachable
from motet.runtime.backends.ray.head_watch import HeadWatch, begun
from motet.runtime.backends.ray.launcher import ExecutorLauncher
from motet.runtime.backends.ray.machine_register import MachineRegister
from motet.runtime.backends.ray.nodes import present_nodes
from motet.runtime.backends.ray.ray_internals import (
    drop_error_messages,
    listen_on_loopback_only,
    wait_for_ports_in_steps,
)
from motet.runtime.backends.ray.reservations import logical_machine
from motet.runtime.backends.ray.start import started_ray
from motet.runtime.backends.ray.token import PrivateToken, require_private_token
from motet.runtime.controller.ports import ClusterLost, ExecutorHandle, LaunchRequest
from motet.runtime.core.machine import Machine

_OBJECT_STORE_BYTES = 100 << 20
_LOGICAL_CAPACITY = 1000
_SHUTDOWN_S = 1.0


class RayCluster:
    """A Ray cluster as an `ExecutorCluster`; a context manager that ends what it began."""

    def __init__(
        self,
        machine_count: int,
        host: str,
        head: HeadWatch,
        register: MachineRegister | None = None,
        token: PrivateToken | None = None,
    ) -> None:
        """`register`: of a joined cluster's nodes; None: the machines are logical.

        `token`: of an embedded cluster.
        """
        self._machine_count = machine_count
        self._host = host
        self._register = register
        self._token = token
        self._looking = threading.Lock()
        self._head = head
        self._known: tuple[Machine, ...] = ()
        self._launcher = ExecutorLauncher(self.machines, register, self._head)

    @classmethod
    def embedded(cls, machines: int) -> Self:
        """Start Ray here with `machines` logical machines, reachable from loopback only.

        Its processes authenticate with a token of this run, which only the user can read.
        """
        drop_error_messages()
        wait_for_ports_in_steps()
        token = PrivateToken()
        listen_on_loopback_only(True)
        resources: dict[str, float] = {
            logical_machine(number): _LOGICAL_CAPACITY for number in range(machines)
        }

        def start() -> HeadWatch:
            ray.init(
                address="local",
                num_cpus=machines,
                num_gpus=0,
                resources=resources,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=_OBJECT_STORE_BYTES,
            )
            return HeadWatch.of_this_driver()

        try:
            return cls(machines, "127.0.0.1", started_ray(start), token=token)
        except BaseException:
            wait([begun(ray.shutdown)], _SHUTDOWN_S)
            _discard(token)
            raise

    @classmethod
    def join(cls, address: str, machines: int, at_least: int | None = None) -> Self:
        """Use up to `machines` nodes of a running Ray cluster, those first that are idle.

        `at_least`: how many there must be now, others may come later; None: all. Raises
        Unreachable, or BadInput when there are too few. A node's label `motet-kind` is its kind.

        Ray sends it the token of RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token. A file
        that other users can read is refused: BadInput.
        """
        require_private_token()
        drop_error_messages()
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            first_line = str(error).strip().splitlines()[0]
            raise Unreachable(
                f"--address {address}: the Ray cluster there refuses ({first_line}); its token "
                "must be in ~/.ray/auth_token or RAY_AUTH_TOKEN, and both must run the same Ray"
            ) from error
        register = MachineRegister(machines)
        found = len(register.update(present_nodes()))
        needed = machines if at_least is None else at_least
        if found < needed:
            ray.shutdown()
            raise BadInput(
                f"--machines {needed}: the Ray cluster at {address} has {found} node(s); "
                "lower --machines or add nodes"
            )
        head = HeadWatch.of_this_driver()
        return cls(machines, ray.util.get_node_ip_address(), head, register)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def machine_count(self) -> int:
        """How many machines a job may use at a time."""
        return self._machine_count

    @property
    def host(self) -> str:
        """This process's address inside the cluster."""
        return self._host

    def machines(self) -> tuple[Machine, ...]:
        """All machines that a job may use or ever could, by number. Raises ClusterLost.

        While the head is silent, those that were known before.
        """
        answers = self._head.answers()
        if self._register is None:
            return tuple(Machine(number, f"m{number}") for number in range(self._machine_count))
        # A report that is used after a newer one would lose machines that came between them.
        with self._looking:
            if answers or not self._known:
                self._known = self._register.update(self._head.call(present_nodes))
            return self._known

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """Start one executor on each machine, all or none; compile the application's kernels."""
        return self._launcher.launch(request)

    def close(self) -> None:
        """Leave the cluster; an embedded one ends."""
        _shut_down(self._head)
        if self._token is not None:
            _discard(self._token)


def _shut_down(head: HeadWatch) -> None:
    """Ray waits for a GCS that is gone; what is left then ends with this process."""
    done = begun(ray.shutdown)
    with contextlib.suppress(ClusterLost):
        while not wait([done], _SHUTDOWN_S).done:
            head.answers()


def _discard(token: PrivateToken) -> None:
    """End what an embedded cluster set in this process."""
    token.discard()
    listen_on_loopback_only(False)
