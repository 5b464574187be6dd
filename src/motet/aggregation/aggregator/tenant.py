"""One job on an Aggregator: its state, its limits, and nothing of any other job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from motet.aggregation.aggregator.broadcasts import AnswerBytes, Broadcasts
from motet.aggregation.aggregator.job_meter import JobMeter
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.job_tensors import JobTensors
from motet.aggregation.tensors.tensor_slot import TensorSlot
from motet.aggregation.wire.aggregator_control import JobAccess, JobMeasurement
from motet.aggregation.wire.job_requests import BroadcastArrays
from motet.aggregation.wire.locations import Locations
from motet.aggregation.wire.tensor_spec import OptimizerKind
from motet.domain.errors import JobFailed, MotetError, NotFound

_STATE_COPIES = {"none": 0, "sgd": 1, "adam": 2, "adamw": 2}


class Tenant:
    """A job; `lock` protects everything here, `moving` admits one migration at a time.

    `moved`: where tensors that were here are now; `departed`: those of them whose last version here
    can still be pulled, `uncopied` those that the new Aggregator does not have yet. `replicas`: of
    tensors of other Aggregators, `following` those that are in a step now (`copied` tells when that
    changes, and when tensors depart); `replica_at`: where the replicas of tensors are that are
    here; `unreplicated`: what goes on once pMaster knows that a replica lacks it, by endpoint.
    `give_ups`: how often a tensor was given up whose copy never came. `failure`: what ended the job
    here.
    """

    def __init__(self, access: JobAccess) -> None:
        self.access = access
        self.lock = threading.RLock()
        self.copied = threading.Condition(self.lock)
        self.moving = threading.Lock()
        self.tensors = JobTensors()
        self.broadcasts = Broadcasts()
        self.meter = JobMeter()
        self.moved: dict[int, str] = {}
        self.uncopied: set[int] = set()
        self.departed: dict[int, TensorSlot] = {}
        self.replicas: dict[int, TensorSlot] = {}
        self.following: set[int] = set()
        self.replica_at: dict[int, str] = {}
        self.unreplicated: dict[str, list[Callable[[], None]]] = {}
        self.give_ups = 0
        self.failure: MotetError | None = None
        self._given_up: dict[int, int] = {}
        self._reserved_bytes = 0
        self._held_bytes = 0

    def require_alive(self) -> None:
        """Raises what ended the job."""
        if self.failure is not None:
            raise self.failure

    def elsewhere(self, numbers: Iterable[int]) -> Locations:
        """The tensors that are not here, and where they are."""
        here = self.tensors.numbers
        return {n: self.moved.get(n, "") for n in numbers if n not in here}

    def new_locations(self, numbers: Iterable[int]) -> Locations:
        """Where tensors will be in the next step, for the reply to a pull."""
        return {n: self.moved[n] for n in numbers if n in self.departed}

    def readable(self, number: int, version: int) -> TensorSlot | None:
        """A tensor whose value at a version can be pulled here now."""
        found = self.tensors.separated([number]).get(number) or self.departed.get(number)
        return found if found is not None and found.version >= version else None

    def follow(self, numbers: Iterable[int]) -> dict[int, TensorSlot]:
        """The replicas of these tensors, for a step; `followed` has to be called after it. Until
        then they are not promoted. Raises NotFound.
        """
        with self.lock:
            self.copied.wait_for(lambda: self.following.isdisjoint(numbers))
            missing = [n for n in numbers if n not in self.replicas]
            if missing:
                raise NotFound(f"tensor {missing[0]} of job {self.access.job} has no replica here")
            self.following.update(numbers)
            return {n: self.replicas[n] for n in numbers}

    def followed(self, replicas: Mapping[int, TensorSlot], *, is_complete: bool) -> None:
        """The step is done. One that failed leaves no replicas: they may have done a part of it."""
        with self.lock:
            self.following.difference_update(replicas)
            for number, slot in replicas.items():
                if not is_complete and self.replicas.get(number) is slot:
                    del self.replicas[number]
            self.recount()
            self.copied.notify_all()

    def take_replica(self, number: int) -> TensorSlot | None:
        """A replica that becomes the tensor itself, once it has done what it was told."""
        with self.lock:
            self.copied.wait_for(lambda: number not in self.following)
            return self.replicas.pop(number, None)

    def give_up(self, number: int) -> Effects:
        """A tensor whose copy never comes; what was sent for it has to be sent elsewhere."""
        self.give_ups += 1
        self._given_up[number] = self.give_ups
        _, effects = self.tensors.remove(number)
        self.recount()
        return effects

    def given_up_since(self, numbers: Iterable[int], give_ups: int) -> Locations:
        """Those of these tensors that were given up since this count; where they are is not
        known."""
        if self.give_ups == give_ups or self.failure is not None:
            return {}
        return {n: "" for n in numbers if self._given_up.get(n, 0) > give_ups}

    def present(self, numbers: Iterable[int]) -> list[int]:
        """Those of these tensors that are here."""
        return [n for n in numbers if n in self.tensors.numbers]

    def tell_departures(self) -> None:
        """Tensors have departed, or stay for another step."""
        with self.lock:
            self.copied.notify_all()

    def is_copying(self, numbers: Iterable[int]) -> bool:
        """Whether another Aggregator still waits for a copy of one of these tensors."""
        return any(n in self.tensors.numbers or n in self.uncopied for n in numbers)

    def hold(self, size_bytes: int) -> None:
        """Memory of gradients; raises JobFailed beyond the quota."""
        with self.lock:
            needed = self._reserved_bytes + self._held_bytes + size_bytes
            if needed > self.access.memory_bytes:
                raise JobFailed(
                    f"job {self.access.job} needs {needed} bytes on this Aggregator, its quota is "
                    f"{self.access.memory_bytes}"
                )
            self._held_bytes += size_bytes

    def free(self, size_bytes: int) -> None:
        """The inverse of `hold`."""
        with self.lock:
            self._held_bytes -= size_bytes

    def reserve(self) -> None:
        """Memory of values and optimizer states, also of replicas. Raises JobFailed beyond the
        quota."""
        self.recount()
        if self._reserved_bytes > self.access.memory_bytes:
            raise JobFailed(
                f"job {self.access.job}: its tensors here need {self._reserved_bytes} bytes with "
                f"the state of {self._kind}, its quota is {self.access.memory_bytes}"
            )

    def keep_replica(self, slot: TensorSlot) -> None:
        """Of a tensor of another Aggregator. Raises JobFailed beyond the quota."""
        former = self.replicas.get(slot.number)
        self.replicas[slot.number] = slot
        try:
            self.reserve()
        except JobFailed:
            del self.replicas[slot.number]
            if former is not None:
                self.replicas[slot.number] = former
            self.recount()
            raise

    def recount(self) -> None:
        """Tensors or replicas have gone. Leaves joint tensors joint: each step of a replica ends
        with it."""
        here = self.tensors.numbers
        # A replica may become the tensor that arrives.
        others = sum(slot.size_bytes for n, slot in self.replicas.items() if n not in here)
        sizes = self.tensors.size_bytes(here) + others
        self._reserved_bytes = sizes * (1 + _STATE_COPIES[self._kind])

    @property
    def _kind(self) -> OptimizerKind:
        return "none" if self.tensors.optimizer is None else self.tensors.optimizer.kind

    def note_end(self, rank: int, step: int) -> None:
        """A worker has ended its step here."""
        if self.tensors.workers is not None:
            ranks = self.tensors.workers.at(step)
            self.meter.finished(rank, step, ranks, time.monotonic_ns())

    def ask_broadcast(
        self, message: BroadcastArrays, payload: bytes | None, respond: AnswerBytes
    ) -> list[Callable[[], None]]:
        """See Broadcasts.ask."""
        ranks = self.ranks_after(message.step)
        return self.broadcasts.ask(message.rank, message.number, payload, respond, ranks)

    def ranks_after(self, step: int) -> tuple[int, ...]:
        """The workers in the step after this one."""
        workers = self.tensors.workers
        return () if workers is None else workers.at(step + 1)

    def measurement(self) -> JobMeasurement:
        """Since the job was opened."""
        with self.lock:
            return JobMeasurement(
                self.access.job,
                self.meter.steps,
                self.meter.last_step,
                self.meter.iteration_ns,
                self.meter.tensor_ns,
                self.meter.skew_ns,
                self.meter.late,
                self.memory_bytes,
                tuple(self.unreplicated),
            )

    @property
    def memory_bytes(self) -> int:
        """Of tensors, of those that have departed but can still be pulled, replicas and gradients;
        a tensor that departs may be a replica from then on.
        """
        kept = {id(slot): slot for each in (self.departed, self.replicas) for slot in each.values()}
        own_bytes = self.tensors.memory_bytes + self._held_bytes
        return own_bytes + sum(slot.memory_bytes for slot in kept.values())

    def forget_peer(self, peer: str) -> list[Callable[[], None]]:
        """Do without the replicas on another Aggregator; returns what goes on now."""
        for number in [n for n, at in self.replica_at.items() if at == peer]:
            del self.replica_at[number]
        return self.unreplicated.pop(peer, [])

    def take_unreplicated(self) -> list[Callable[[], None]]:
        """What waits for pMaster, when the job has ended here."""
        calls = [call for each in self.unreplicated.values() for call in each]
        self.unreplicated.clear()
        return calls
