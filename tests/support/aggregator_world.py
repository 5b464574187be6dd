"""Aggregators of a test, which carry pMaster's instructions out when the test says so.

They know the truth about tensors: who serves each of them and who has a replica that is up to
date. An instruction that real Aggregators could not carry out fails an assertion, and so does the
promotion of a replica whose Aggregator goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.events import (
    AggregatorDied,
    AggregatorMeasured,
    AggregatorStarted,
    OperationDone,
    OperationFailed,
    PoolEvent,
    Ticked,
    WorkerJoined,
)
from motet.aggregation.master.state.instructions import (
    CloseOn,
    EndJob,
    ForgetOn,
    KillAggregator,
    MoveTo,
    OpenOn,
    PoolInstruction,
    PoolOperation,
    PromoteOn,
    PublishRoutes,
    ReplicateTo,
    SetCycleOn,
    SetWorkersOn,
    StartAggregator,
    StopAggregator,
)
from motet.aggregation.wire.aggregator_control import JobMeasurement
from motet.aggregation.wire.pool_messages import JoinJob
from motet.aggregation.wire.tensor_spec import TensorSpec

Key = tuple[int, int]
"""Job and tensor."""
MS = 1_000_000


def join(job: str, rank: int = 0, workers: int = 1, tensors: int = 2, servers: int = 1) -> JoinJob:
    specs = tuple(TensorSpec(f"w{number}", (4 + number,)) for number in range(tensors))
    return JoinJob(job, rank, workers, servers, specs)


@dataclass
class FakeAggregator:
    """`jobs`: that it accepts. `cycle_ns`: that it was told."""

    jobs: set[int] = field(default_factory=set)
    cycle_ns: int = 0


@dataclass
class AggregatorWorld:
    """`homes` and `replicas`: the truth by tensor. `stale`: Aggregators with replicas that lack
    steps. `lost`: peers that an Aggregator does not reach and waits for. `silent`: Aggregators that
    say nothing. `condemned`: those that are being killed. `pending`: operations under way.
    """

    controller: PoolController
    starting: list[int] = field(default_factory=list)
    aggregators: dict[int, FakeAggregator] = field(default_factory=dict)
    homes: dict[Key, int] = field(default_factory=dict)
    replicas: dict[Key, int] = field(default_factory=dict)
    stale: set[tuple[Key, int]] = field(default_factory=set)
    lost: dict[int, set[int]] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    condemned: list[int] = field(default_factory=list)
    pending: dict[int, PoolOperation] = field(default_factory=dict)
    given: set[int] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    published: dict[int, int] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)
    log: list[PoolInstruction] = field(default_factory=list)
    now_s: float = 0.0
    machines: dict[int, str] = field(default_factory=dict)

    def handle(self, event: PoolEvent) -> list[PoolInstruction]:
        instructions = self.controller.handle(event)
        self.take(instructions)
        return instructions

    def take(self, instructions: Sequence[PoolInstruction]) -> None:
        for instruction in instructions:
            self.log.append(instruction)
            self._take_one(instruction)

    def tick(self, seconds: float = 1.0) -> None:
        self.now_s += seconds
        for number in set(self.aggregators) - self.silent:
            self.handle(AggregatorMeasured(number, ()))
        self.handle(Ticked(self.now_s))

    def settle(self, choose: Callable[[list[int]], int] = min) -> None:
        """Start and complete everything that is under way."""
        for _ in range(1_000):
            if self.condemned:
                self.kill(self.condemned[0])
            elif self.starting:
                self.start(self.starting[0])
            elif self.pending:
                self.complete(choose(list(self.pending)))
            else:
                return
        raise AssertionError(f"no end of {self.pending}")

    def start(self, number: int) -> None:
        self.starting.remove(number)
        self.aggregators[number] = FakeAggregator()
        machine = self.machines.get(number, "")
        self.handle(AggregatorStarted(number, f"endpoint {number}", machine))

    def complete(self, number: int) -> None:
        operation = self.pending.pop(number)
        if self._carry_out(operation):
            self.handle(OperationDone(number))
        else:
            self.handle(OperationFailed(number, "refused"))

    def fail(self, number: int) -> None:
        if number in self.done:
            self.complete(number)
            return
        del self.pending[number]
        self.handle(OperationFailed(number, "no memory"))

    def kill(self, number: int, took_effect: bool = False) -> None:
        """`took_effect`: what it was doing had just been complete."""
        for operation in [each for each in self.pending.values() if each.aggregator == number]:
            del self.pending[operation.operation]
            if took_effect:
                self._carry_out(operation)
        if number in self.starting:
            self.starting.remove(number)
        if number in self.condemned:
            self.condemned.remove(number)
        self.aggregators.pop(number, None)
        self.lost.pop(number, None)
        self.stale = {each for each in self.stale if each[1] != number}
        for key, home in list(self.homes.items()):
            if home == number:
                self.homes[key] = -1
        self.replicas = {key: each for key, each in self.replicas.items() if each != number}
        self.handle(AggregatorDied(number))

    def restart(self, are_done: bool) -> None:
        """pMaster ends, with or without the operations under way done; they may be given again."""
        for operation in self.pending.values():
            self.given.discard(operation.operation)
            self.repeated.add(operation.operation)
            if are_done:
                self.done.add(operation.operation)
                self._carry_out(operation)
        self.pending.clear()
        self.starting.clear()

    def measure(
        self, job: int, steps: int, iteration_ns: int, tensor_ns: int, late: int = 0
    ) -> None:
        """Measurements of all its Aggregators; each of its tensors takes `tensor_ns`."""
        state = self.controller.state.jobs[job]
        for aggregator in state.live_homes:
            own = dict.fromkeys(state.tensors_at(aggregator).tolist(), tensor_ns)
            lost = tuple(f"endpoint {each}" for each in sorted(self.lost.get(aggregator, ())))
            found = JobMeasurement(job, steps, steps, iteration_ns, own, {}, late, 1_000, lost)
            self.handle(AggregatorMeasured(aggregator, (found,)))

    def place(self, name: str, iteration_ns: int, tensor_ns: int, **join_options: int) -> int:
        """A job that has joined, has been measured and is where the plan has it; its number."""
        self.handle(WorkerJoined(join(name, **join_options), "00"))
        self.settle()
        job = self.controller.job_named(name)
        assert job is not None
        self.measure(job.number, 20, iteration_ns, tensor_ns)
        self.settle()
        return job.number

    # -- instructions ----------------------------------------------------------------------------

    def _take_one(self, instruction: PoolInstruction) -> None:
        match instruction:
            case StartAggregator():
                assert instruction.aggregator not in {*self.starting, *self.aggregators}
                self.starting.append(instruction.aggregator)
            case StopAggregator():
                self._stop(instruction.aggregator)
            case KillAggregator():
                assert instruction.aggregator in self.aggregators
                if instruction.aggregator not in self.condemned:
                    self.condemned.append(instruction.aggregator)
            case PublishRoutes():
                self.published[instruction.job] = self.controller.state.jobs[
                    instruction.job
                ].version
            case EndJob():
                self.ended[instruction.job] = instruction.error
                self.homes = {k: h for k, h in self.homes.items() if k[0] != instruction.job}
                self.replicas = {k: h for k, h in self.replicas.items() if k[0] != instruction.job}
            case _:
                self._begin(instruction)

    def _stop(self, number: int) -> None:
        held = {each for job in self.controller.state.jobs for each in self._holders(job)}
        assert number not in held, "an Aggregator with tensors or replicas is released"
        busy = [each for each in self.pending.values() if number in _concerned(each)]
        assert not busy, busy
        if number in self.starting:
            self.starting.remove(number)
        else:
            assert not self.aggregators.pop(number).jobs

    def _begin(self, operation: PoolOperation) -> None:
        assert operation.operation not in self.given, "an operation is given twice"
        self.given.add(operation.operation)
        assert operation.aggregator in self.aggregators, f"{operation} asks a process that is away"
        for other in self.pending.values():
            assert not _conflict(operation, other), f"{operation} during {other}"
        self.pending[operation.operation] = operation
        is_again = operation.operation in self.repeated
        if isinstance(operation, MoveTo | ReplicateTo) and not is_again:
            assert operation.target != operation.aggregator
            for number in _concerned(operation):
                assert operation.job in self.aggregators[number].jobs
        if isinstance(operation, OpenOn):
            self._create(operation)

    def _create(self, operation: OpenOn) -> None:
        """The tensors of a new job are where its first routes will be."""
        job = self.controller.state.jobs[operation.job]
        if not job.is_routed:
            for tensor, home in enumerate(job.homes.tolist()):
                self.homes[job.number, tensor] = home

    def _carry_out(self, operation: PoolOperation) -> bool:
        aggregator = self.aggregators[operation.aggregator]
        match operation:
            case OpenOn():
                aggregator.jobs.add(operation.job)
            case CloseOn():
                self._close(operation)
            case SetWorkersOn():
                assert operation.job in aggregator.jobs
            case SetCycleOn():
                aggregator.cycle_ns = operation.cycle_ns
            case ForgetOn():
                self._go_on_alone(operation)
            case MoveTo() | ReplicateTo() | PromoteOn():
                return operation.job in self.ended or self._touch_tensors(operation)
        return True

    def _touch_tensors(self, operation: MoveTo | ReplicateTo | PromoteOn) -> bool:
        keys = [(operation.job, tensor) for tensor in operation.tensors]
        number = operation.aggregator
        if isinstance(operation, PromoteOn):
            has_stale = any((key, number) in self.stale for key in keys)
            assert not has_stale, "a replica that lacks steps is promoted"
            if any(number not in (self.homes[key], self.replicas.get(key)) for key in keys):
                return False
            self._serve(keys, number)
            return True
        if operation.target not in self.aggregators:
            return False
        is_again = operation.operation in self.repeated
        if is_again and all(self.homes[key] == operation.target for key in keys):
            return True  # A move that was complete.
        for key in keys:
            assert self.homes[key] == number, f"{operation}: {self.homes[key]} serves {key}"
            if isinstance(operation, ReplicateTo):
                self.replicas[key] = operation.target
                self.stale.discard((key, operation.target))
                continue
            self.homes[key] = operation.target
            self.stale.discard((key, operation.target))
            if self.replicas.get(key, operation.target) == operation.target:
                self.replicas[key] = number
        return True

    def _close(self, operation: CloseOn) -> None:
        """Replicas that do not count may be there: they are gone with the job."""
        job, number = operation.job, operation.aggregator
        known = self.controller.state.jobs.get(job)
        if known is not None and known.is_routed:
            assert number not in {home for key, home in self.homes.items() if key[0] == job}
            held = [key for key, at in self.replicas.items() if (key[0], at) == (job, number)]
            assert all(known.replicas[tensor] != number for _, tensor in held)
            self.replicas = {key: at for key, at in self.replicas.items() if key not in held}
        self.aggregators[number].jobs.discard(job)
        self.stale = {(key, at) for key, at in self.stale if (key[0], at) != (job, number)}

    def _go_on_alone(self, operation: ForgetOn) -> None:
        """From now on the replicas on the peer lack steps."""
        peer = int(operation.peer.split()[1])
        self.lost.get(operation.aggregator, set()).discard(peer)
        for key, home in self.homes.items():
            is_concerned = key[0] == operation.job and home == operation.aggregator
            if is_concerned and self.replicas.get(key) == peer:
                del self.replicas[key]
                self.stale.add((key, peer))

    def _serve(self, keys: list[Key], number: int) -> None:
        for key in keys:
            if self.homes[key] != number:
                assert self.homes[key] == -1, "a replica is promoted beside a living Aggregator"
            self.homes[key] = number
            self.replicas.pop(key, None)

    def _holders(self, job: int) -> set[int]:
        """No worker has sent values before it knows the routes."""
        known = self.controller.state.jobs.get(job)
        if known is None or not known.is_routed:
            return set()
        return {
            n for found in (self.homes, self.replicas) for key, n in found.items() if key[0] == job
        }


def _concerned(operation: PoolOperation) -> tuple[int, ...]:
    if isinstance(operation, MoveTo | ReplicateTo):
        return operation.aggregator, operation.target
    return (operation.aggregator,)


def _conflict(one: PoolOperation, other: PoolOperation) -> bool:
    """Whether real Aggregators could carry them out in any order only with luck."""
    tensor_kinds = (MoveTo, ReplicateTo, PromoteOn)
    if isinstance(one, tensor_kinds) and isinstance(other, tensor_kinds):
        return one.job == other.job and bool({*one.tensors} & {*other.tensors})
    if isinstance(one, ForgetOn) and isinstance(other, ForgetOn):
        return (one.aggregator, one.job, one.peer) == (other.aggregator, other.job, other.peer)
    if isinstance(one, SetCycleOn) or isinstance(other, SetCycleOn):
        return type(one) is type(other) and one.aggregator == other.aggregator
    shares_place = bool({*_concerned(one)} & {*_concerned(other)}) and one.job == other.job
    closes = isinstance(one, CloseOn | OpenOn) or isinstance(other, CloseOn | OpenOn)
    return shares_place and (closes or type(one) is type(other))
