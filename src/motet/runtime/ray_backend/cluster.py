"""A Ray cluster as machines for jobs; with `ray_executors.py` all that knows Ray.

Ray gives processes, gang placement (placement groups) and failure detection; bulk bytes and the
mini-batch loop never go through it. `embedded` starts Ray inside this process's life: its N
machines are logical (one custom resource each). `join` uses a running cluster: each of its nodes is
one machine, and an executor is started on its machine's node and nowhere else.
"""

from __future__ import annotations

import motet.runtime.ray_backend.environment  # noqa: F401

# isort: split
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import ray
from ray._private import ray_constants
from ray._private import state as ray_state
from ray._private import worker as ray_worker
from ray.exceptions import RayActorError, RayError
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    remove_placement_group,
)

from motet.domain.errors import BadInput, JobFailed, Unreachable
from motet.runtime.controller.ports import (
    ExecutorHandle,
    ExecutorLost,
    LaunchGivenUp,
    MachineGone,
    never,
)
from motet.runtime.core.application import Application
from motet.runtime.core.machine import Machine
from motet.runtime.ray_backend.executors import (
    CALL_TIMEOUT_S,
    ExecutorActor,
    RayExecutor,
    Reservation,
    brief,
    end_actor,
)
from motet.runtime.ray_backend.machine_register import MachineRegister, Node

_START_TIMEOUT_S = 180.0
_LOOK_EVERY_S = 1.0
_OBJECT_STORE_BYTES = 100 << 20
_LOGICAL_CAPACITY = 1000
_NODE_ID = "ray.io/node-id"
_KIND = "motet-kind"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class RayCluster:
    """A Ray cluster as a `Cluster`; a context manager that ends what it began."""

    def __init__(
        self, machine_count: int, host: str, register: MachineRegister | None = None
    ) -> None:
        """`register`: of a joined cluster's nodes; None: the machines are logical."""
        self._machine_count = machine_count
        self._host = host
        self._register = register
        self._reservations: dict[str, list[Reservation]] = {}
        self._reserving = threading.Lock()
        self._looking = threading.Lock()

    @classmethod
    def embedded(cls, machines: int) -> Self:
        """Start Ray here with `machines` logical machines, reachable from loopback only."""
        _keep_ray_quiet()
        # Ray binds every interface unless it believes that this machine is a cluster alone.
        ray_constants.ENABLE_RAY_CLUSTER = False
        resources: dict[str, float] = {
            _machine(number): _LOGICAL_CAPACITY for number in range(machines)
        }
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
        return cls(machines, "127.0.0.1")

    @classmethod
    def join(cls, address: str, machines: int, at_least: int | None = None) -> Self:
        """Use up to `machines` nodes of a running Ray cluster, those first that are idle.

        `at_least`: how many there must be now, others may come later; None: all. Raises
        Unreachable, or BadInput when there are too few. A node's label `motet-kind` is its kind.

        A token of Ray's (RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token) is shown to it.
        """
        _keep_ray_quiet()
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            first_line = str(error).strip().splitlines()[0]
            raise Unreachable(
                f"--address {address}: the Ray cluster there refuses ({first_line}); its token "
                "must be in ~/.ray/auth_token or RAY_AUTH_TOKEN, and both must run the same Ray"
            ) from error
        register = MachineRegister(machines)
        found, needed = len(register.update(_nodes())), machines if at_least is None else at_least
        if found < needed:
            ray.shutdown()
            raise BadInput(
                f"--machines {needed}: the Ray cluster at {address} has {found} node(s); "
                "lower --machines or add nodes"
            )
        return cls(machines, ray.util.get_node_ip_address(), register)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def machine_count(self) -> int:
        """How many machines a job may use at a time."""
        return self._machine_count

    def machines(self) -> tuple[Machine, ...]:
        """All machines that a job may use or ever could, by number."""
        if self._register is None:
            return tuple(Machine(number, f"m{number}") for number in range(self._machine_count))
        # An old answer that is taken in after a newer one would lose machines that came between.
        with self._looking:
            return self._register.update(_nodes())

    @property
    def host(self) -> str:
        """This process's address inside the cluster."""
        return self._host

    def launch(
        self,
        job: str,
        machines: Sequence[int],
        secret: bytes,
        app: Application,
        is_given_up: Callable[[], bool] = never,
    ) -> Mapping[int, ExecutorHandle]:
        """Start one executor on each machine, all or none; compile the application's kernels."""
        _pickle_by_value(app)
        self._check_there(machines)
        check = partial(self._check_wanted, machines, is_given_up)
        with self._reserving:
            reservations = self._places_for(job, machines, check)
        actors: list[Any] = []
        try:
            actors += [self._start(number, reservations[number], secret) for number in machines]
            self._await([actor.warm_up.remote(app) for actor in actors], check)
            endpoints = ray.get([actor.endpoint.remote() for actor in actors])
        except (RayError, TimeoutError, MachineGone, LaunchGivenUp) as error:
            for actor in actors:
                end_actor(actor)
            for number, reservation in reservations.items():
                reservation.leave(number)
            if isinstance(error, MachineGone | LaunchGivenUp):
                raise
            if isinstance(error, RayActorError):
                self._check_there(machines)
                raise ExecutorLost(f"an executor died while it started: {brief(error)}") from error
            raise JobFailed(f"executors of {job} did not start: {brief(error)}") from error
        return {
            number: RayExecutor(number, actor, endpoint, reservations[number])
            for number, actor, endpoint in zip(machines, actors, endpoints, strict=True)
        }

    def close(self) -> None:
        """Leave the cluster; an embedded one ends."""
        ray.shutdown()
        if self._register is None:
            ray_constants.ENABLE_RAY_CLUSTER = True

    def _check_there(self, machines: Sequence[int]) -> None:
        """Raises MachineGone."""
        now = self.machines()
        for machine in (now[number] for number in machines):
            if machine.condition != "up":
                raise MachineGone(f"machine {machine.name} is {machine.condition}")

    def _await(self, references: list[Any], check: Callable[[], None]) -> None:
        """Raises RayError, TimeoutError, or what `check` raises meanwhile."""
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while references:
            ready, references = ray.wait(references, timeout=_LOOK_EVERY_S)
            ray.get(ready)
            check()
            if references and time.monotonic() > deadline_s:
                raise TimeoutError(f"not within {_START_TIMEOUT_S:.0f} s")

    def _check_wanted(self, machines: Sequence[int], is_given_up: Callable[[], bool]) -> None:
        """Raises MachineGone or LaunchGivenUp."""
        self._check_there(machines)
        if is_given_up():
            raise LaunchGivenUp

    def _places_for(
        self, job: str, machines: Sequence[int], check: Callable[[], None]
    ) -> dict[int, Reservation]:
        """A place on each machine: one that the job holds already, or a new one."""
        held = self._reservations.setdefault(job, [])
        held[:] = [reservation for reservation in held if reservation.is_held]
        places = {
            number: reservation
            for number in machines
            for reservation in held
            if reservation.enter(number)
        }
        missing = [number for number in machines if number not in places]
        if missing:
            try:
                reservation = Reservation(self._reserve(job, missing, check), missing)
            except BaseException:
                for number, entered in places.items():
                    entered.leave(number)
                raise
            held.append(reservation)
            places |= dict.fromkeys(missing, reservation)
        return places

    def _reserve(
        self, job: str, machines: Sequence[int], check: Callable[[], None]
    ) -> PlacementGroup:
        """A place on each of the machines, or none; also none when `check` raises."""
        group = self._group(machines)
        deadline_s = time.monotonic() + CALL_TIMEOUT_S
        try:
            while not group.wait(_LOOK_EVERY_S):
                check()
                if time.monotonic() > deadline_s:
                    raise JobFailed(
                        f"the cluster could not give {len(machines)} machine(s) to {job} within "
                        f"{CALL_TIMEOUT_S:.0f} s; wait for other jobs or lower --machines"
                    )
        except BaseException:
            remove_placement_group(group)
            raise
        return group

    def _group(self, machines: Sequence[int]) -> PlacementGroup:
        if self._register is None:
            bundles, selector = [{_machine(number): 1.0} for number in machines], None
        else:
            bundles = [{"CPU": 1.0} for _ in machines]
            selector = [{_NODE_ID: self._register.identity_of(number)} for number in machines]
        group: PlacementGroup = placement_group(bundles, bundle_label_selector=selector)
        return group

    def _start(self, number: int, reservation: Reservation, secret: bytes) -> Any:
        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_restarts": 0,
            "max_concurrency": 8,
            "scheduling_strategy": reservation.place_of(number),
            "runtime_env": {"env_vars": _ONE_THREAD},
        }
        is_embedded = self._register is None
        if is_embedded:
            options["resources"] = {_machine(number): 0.001}
        return ray.remote(**options)(ExecutorActor).remote(number, secret, is_embedded)


def _nodes() -> list[Node]:
    """Nodes that take executors; a head that only coordinates has no CPU to give."""
    ends_ms = ray_state.state.get_draining_nodes()
    free = ray_state.available_resources_per_node()
    return [
        Node(
            identity=node["NodeID"],
            name=node["NodeName"],
            kind=node["Labels"].get(_KIND, "machine"),
            condition="leaving" if node["NodeID"] in ends_ms else "up",
            is_busy=free.get(node["NodeID"], {}).get("CPU", 0) < 1,
            notice_s=_notice_s(ends_ms.get(node["NodeID"], 0)),
        )
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    ]


def _notice_s(end_ms: int) -> float | None:
    return max(end_ms / 1000 - time.time(), 0.0) if end_ms else None


def _keep_ray_quiet() -> None:
    # Ray prints a paragraph for every dead worker at any log level; the job reports it itself.
    ray_worker.print_to_stdstream = lambda *_, **__: None


def _machine(number: int) -> str:
    return f"motet_machine_{number}"


def _pickle_by_value(app: Application) -> None:
    """Executors cannot import an application that was loaded from a user's file: send its code."""
    module = sys.modules.get(type(app).__module__)
    if module is not None and not module.__name__.startswith("motet."):
        ray.cloudpickle.register_pickle_by_value(module)
