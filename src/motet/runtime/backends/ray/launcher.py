"""Starts executors as Ray actors: all of one request, or none."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from motet.domain.errors import JobFailed
from motet.runtime.backends.ray.executors import ExecutorActor, RayExecutor, brief, end_actor
from motet.runtime.backends.ray.head_watch import HeadWatch
from motet.runtime.backends.ray.machine_register import MachineRegister
from motet.runtime.backends.ray.reservations import (
    LOOK_EVERY_S,
    Reservation,
    Reservations,
    logical_machine,
)
from motet.runtime.blas_threads import ONE_BLAS_THREAD
from motet.runtime.controller.ports import (
    ExecutorHandle,
    ExecutorLost,
    LaunchGivenUp,
    LaunchRequest,
    MachineGone,
)
from motet.runtime.core.application import Application
from motet.runtime.core.machine import Machine

_START_TIMEOUT_S = 180.0


class ExecutorLauncher:
    """Starts executors on a cluster's machines."""

    def __init__(
        self,
        machines: Callable[[], Sequence[Machine]],
        register: MachineRegister | None,
        head: HeadWatch,
    ) -> None:
        """`machines`: as they are now. `register` None: they are logical."""
        self._machines = machines
        self._head = head
        self._is_embedded = register is None
        self._reservations = Reservations(register)

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """See `ExecutorCluster.launch`; compiles the application's kernels."""
        return self._head.call(lambda: self._launch(request))

    def _launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        _pickle_by_value(request.app)
        self._check_machines(request)
        places = self._reservations.places_for(
            request.job, request.machines, lambda: self._check_needed(request)
        )
        actors: list[Any] = []
        try:
            return self._started(request, places, actors)
        except (MachineGone, LaunchGivenUp):
            _give_up(actors, places)
            raise
        except (RayError, TimeoutError) as error:
            _give_up(actors, places)
            raise self._failure(request, error) from error

    def _started(
        self, request: LaunchRequest, places: Mapping[int, Reservation], actors: list[Any]
    ) -> Mapping[int, ExecutorHandle]:
        """Start the executors; their actors are added to `actors`, also after a failure."""
        actors += [self._start(n, places[n], request) for n in request.machines]
        self._await_warm(actors, request)
        endpoints = ray.get([actor.endpoint.remote() for actor in actors])
        return {
            number: RayExecutor(number, actor, endpoint, places[number], self._head)
            for number, actor, endpoint in zip(request.machines, actors, endpoints, strict=True)
        }

    def _start(self, number: int, place: Reservation, request: LaunchRequest) -> Any:
        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_restarts": 0,
            "max_concurrency": 8,
            "scheduling_strategy": place.place_of(number),
            "runtime_env": {"env_vars": dict(ONE_BLAS_THREAD)},
        }
        if self._is_embedded:
            options["resources"] = {logical_machine(number): 0.001}
        actor = ray.remote(**options)(ExecutorActor)
        return actor.remote(number, request.job, request.secret, self._is_embedded)

    def _await_warm(self, actors: Sequence[Any], request: LaunchRequest) -> None:
        """Raises RayError, TimeoutError, MachineGone or LaunchGivenUp."""
        references = [actor.warm_up.remote(request.app) for actor in actors]
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while references:
            ready, references = ray.wait(references, timeout=LOOK_EVERY_S)
            ray.get(ready)
            self._check_needed(request)
            if references and time.monotonic() > deadline_s:
                raise TimeoutError(f"not within {_START_TIMEOUT_S:.0f} s")

    def _check_needed(self, request: LaunchRequest) -> None:
        """Raises MachineGone or LaunchGivenUp."""
        self._check_machines(request)
        if request.is_given_up():
            raise LaunchGivenUp

    def _check_machines(self, request: LaunchRequest) -> None:
        """Raises MachineGone."""
        now = self._machines()
        for machine in (now[number] for number in request.machines):
            if machine.condition != "up":
                raise MachineGone(f"machine {machine.name} is {machine.condition}")

    def _failure(self, request: LaunchRequest, error: Exception) -> Exception:
        """What a failed start means for the job. Raises MachineGone."""
        if isinstance(error, RayActorError):
            self._check_machines(request)
            return ExecutorLost(f"an executor died while it started: {brief(error)}")
        return JobFailed(f"executors of {request.job} did not start: {brief(error)}")


def _give_up(actors: Sequence[Any], places: Mapping[int, Reservation]) -> None:
    for actor in actors:
        end_actor(actor)
    for number, place in places.items():
        place.leave(number)


def _pickle_by_value(app: Application) -> None:
    """Executors cannot import an application that was loaded from a user's file: send its code."""
    module = sys.modules.get(type(app).__module__)
    if module is not None and not module.__name__.startswith("motet."):
        ray.cloudpickle.register_pickle_by_value(module)
