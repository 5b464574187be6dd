"""Aggregators in the process of a test: they remember what they were asked, and train nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from motet.aggregation.wire.aggregator_control import CycleShare, JobAccess, JobMeasurement
from motet.domain.errors import Unreachable
from motet.transport import Endpoint


class FakeControl:
    """Implements ClosableControl. `steps`: what it says that every job has applied.
    `is_stopped`: it is alive and says nothing."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.jobs: dict[int, JobAccess] = {}
        self.steps = 0
        self.iteration_ns = 100_000_000
        self.tensors: dict[int, set[int]] = {}
        self.is_dead = self.is_stopped = False
        self.lost_replicas: tuple[str, ...] = ()

    def open_job(self, access: JobAccess) -> None:
        self._called("open_job", access.job, access.name)
        self.jobs[access.job] = access

    def close_job(self, job: int) -> None:
        self._called("close_job", job)
        del self.jobs[job]

    def set_workers(self, job: int, ranks: Sequence[int], from_step: int) -> None:
        self._called("set_workers", job, tuple(ranks), from_step)

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare]) -> None:
        self._called("set_cycle", cycle_ns, tuple(share.job for share in shares))

    def replicate(self, job: int, tensors: Sequence[int], peer: str) -> None:
        self._called("replicate", job, tuple(tensors), peer)

    def forget_replicas(self, job: int, peer: str) -> None:
        self._called("forget_replicas", job, peer)

    def promote(self, job: int, tensors: Sequence[int]) -> None:
        self._called("promote", job, tuple(tensors))

    def move(self, job: int, tensors: Sequence[int], peer: str) -> None:
        self._called("move", job, tuple(tensors), peer)

    def measurements(self) -> Sequence[JobMeasurement]:
        if self.is_dead or self.is_stopped:
            raise Unreachable("this Aggregator has ended")
        tensor_ns = dict.fromkeys(range(100), 1_000_000)
        return [
            JobMeasurement(
                *(job, self.steps, self.steps, self.iteration_ns, tensor_ns, {}, 0, 1_000),
                self.lost_replicas,
            )
            for job in list(self.jobs)
        ]

    def close(self) -> None:
        """Nothing to disconnect."""

    def _called(self, *call: object) -> None:
        if self.is_dead:
            raise Unreachable("this Aggregator has ended")
        self.calls.append(call)


class FakeLauncher:
    """Implements AggregatorLauncher; `connect` reaches its Aggregators."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.controls: dict[int, FakeControl] = {}
        self.stopped: list[int] = []

    def start(self, number: int) -> str:
        with self._changed:
            self.controls.setdefault(number, FakeControl())
        return _endpoint(number)

    def stop(self, number: int) -> None:
        self.stopped.append(number)
        self.kill(number)

    def kill(self, number: int) -> None:
        with self._changed:
            control = self.controls.pop(number, None)
            if control is not None:
                control.is_dead = True
            self._changed.notify_all()

    def await_end(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: number not in self.controls)

    def machine_of(self, number: int) -> str:
        return f"m{number % 2}"

    def running(self) -> Mapping[int, str]:
        with self._changed:
            return {number: _endpoint(number) for number in self.controls}

    def connect(self, endpoint: str) -> FakeControl:
        control = self.controls.get(Endpoint.decode(endpoint).port)
        if control is None:
            raise Unreachable("this Aggregator has ended")
        return control


def _endpoint(number: int) -> str:
    return Endpoint("127.0.0.1", number).encode()
