"""All tensors of one job on an Aggregator, and the requests that wait for them. Pure state.

Not thread-safe; what its methods return is to be done without the job's lock: `Effects.works` are
computed (`slot_computation`, then `completed`), `Effects.calls` answer requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.joint_steps import JointPush, JointSteps, JointTensors, JointWork
from motet.aggregation.tensors.step_gradients import Release, StepEnd, WorkerGradient
from motet.aggregation.tensors.tensor_optimizer import check_optimizer
from motet.aggregation.tensors.tensor_slot import NO_VALUES, SlotWork, TensorSlot
from motet.aggregation.tensors.waiting_requests import WaitingRequests
from motet.aggregation.tensors.worker_sets import WorkerSets
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.aggregation.wire.worker_requests import FinishStep, PushGradients
from motet.domain.arrays import Array
from motet.domain.errors import BadInput
from motet.runtime.wire.errors import BadMessage


def _ignore() -> None:
    """The default of `delayed` in `JobTensors.hold`."""


@dataclass(frozen=True)
class _Hold:
    """A call for when nothing is computed for a tensor; see `JobTensors.hold`."""

    call: Callable[[], None]
    between_steps: bool
    version: int
    delayed: Callable[[], None]


class JobTensors:
    """The state of one job; see the module."""

    def __init__(self) -> None:
        self._slots: dict[int, TensorSlot] = {}
        self._joint = JointSteps(self._slots)
        self.workers: WorkerSets | None = None
        self.optimizer: OptimizerSpec | None = None
        self._version_waits = WaitingRequests()
        self._holds: dict[int, _Hold] = {}
        self._quiet_calls: list[Callable[[], None]] = []
        self._mean_waits = WaitingRequests()

    @property
    def slots(self) -> dict[int, TensorSlot]:
        """The tensors that are here. Each has an account of its own from now on."""
        return self.separated(self._slots)

    def separated(self, numbers: Iterable[int]) -> dict[int, TensorSlot]:
        """The same for access to these tensors only."""
        if self._joint.has_any(numbers):
            for waiting, version, respond in self._joint.separate():
                missing = [n for n in waiting if self._slots[n].version < version]
                self._version_waits.add(missing, version, respond)
        return self._slots

    @property
    def numbers(self) -> KeysView[int]:
        """Of the tensors that are here."""
        return self._slots.keys()

    # -- registration ----------------------------------------------------------------------------

    def register(
        self, specs: Mapping[int, TensorSpec], optimizer: OptimizerSpec, workers: int
    ) -> None:
        """Add tensors that are not known yet. `workers`: unless they were set before.

        Raises BadInput: the specifications differ from those of another worker.
        """
        check_optimizer(specs.values(), optimizer, self.optimizer)
        new = {n: spec for n, spec in specs.items() if n not in self.slots}
        for number in specs.keys() - new.keys():
            if self.slots[number].spec != specs[number]:
                raise BadInput(
                    f"tensor {number} is {specs[number]} at this worker, at another one "
                    f"{self.slots[number].spec}; all workers of a job train the same model"
                )
        slots = {number: TensorSlot(number, spec, optimizer) for number, spec in new.items()}
        self.optimizer = self.optimizer or optimizer
        if self.workers is None:
            self.workers = WorkerSets(range(workers))
        self._slots.update(slots)

    def put_value(self, number: int, value: memoryview) -> Effects:
        """The first value of a tensor; later ones are ignored."""
        slot = self.slots[number]
        if slot.version == NO_VALUES:
            slot.put(np.frombuffer(value, np.uint8), 0)
        return self._progress([number])

    def require_in_time(self, ranks: Iterable[int], from_step: int) -> None:
        """Raises BadInput: a worker would join in a step that has ended without it."""
        done = max((slot.version for slot in self.slots.values()), default=0)
        new = set(ranks) - set(self._ranks(from_step))
        if self.workers is not None and new and from_step <= done:
            raise BadInput(
                f"ranks {sorted(new)} cannot join in step {from_step}: step {done} has ended; "
                f"let them join later"
            )

    def set_workers(self, ranks: Sequence[int], from_step: int) -> Effects:
        """The workers from a step on."""
        if self.workers is None:
            self.workers = WorkerSets(ranks)
        else:
            self.workers.change(ranks, from_step)
        return self._progress(self.slots)

    def first_step(self, rank: int) -> int:
        """The first step that waits for this worker. Raises BadInput: none does."""
        assert self.workers is not None
        done = min((slot.version for slot in self.slots.values()), default=0)
        step = self.workers.first_step_of(rank, max(done, 0))
        if step is None:
            raise BadInput(
                f"rank {rank} is no worker of this job in step {max(done, 0) + 1}, "
                f"whose ranks are {self.workers.at(max(done, 0) + 1)}"
            )
        return step

    # -- steps -----------------------------------------------------------------------------------

    def push(
        self,
        rank: int,
        step: int,
        numbers: Sequence[int],
        gradients: Sequence[WorkerGradient],
        *,
        ends_step: bool = False,
    ) -> Effects:
        """Gradients of a worker. `ends_step`: `finish` follows, which finds what is possible."""
        if rank not in self._ranks(step):
            return Effects(calls=[each.release for each in gradients])
        effects, slots = Effects(), self.separated(numbers)
        for number, gradient in zip(numbers, gradients, strict=True):
            effects.calls += slots[number].push(rank, step, gradient)
        return effects if ends_step else self._progress(self._complete(numbers, step), effects)

    def joint(self, request: PushGradients, payload_bytes: int) -> JointTensors | None:
        """Where a worker's last gradients of a step can be noted for all tensors at once, by
        `push_together`. None: each of them needs a note of its own. Raises BadMessage."""
        if not (request.ends_step and request.is_applied) or request.is_halved:
            return None
        if self._holds or self._quiet_calls or self._mean_waits.numbers:
            return None
        found = self._joint.find(request.tensors, self._version_waits.numbers)
        if found is None or not found.takes(request.rank, request.step):
            return None
        if request.rank not in self._ranks(request.step) or min(request.counts) < 1:
            return None
        self.require_groups(request.groups)
        return found if payload_bytes == found.size_bytes else None

    def push_together(
        self, found: JointTensors, request: PushGradients, payload: memoryview, release: Release
    ) -> Effects:
        """The end of the step included."""
        options = None if request.groups is None else request.groups[found.group]
        end = StepEnd(is_applied=True, options=options)
        found.pushed[request.rank] = JointPush(request.counts, payload, end, release)
        ranks = self._ranks(request.step)
        return Effects(works=[found.begin(ranks)] if len(found.pushed) == len(ranks) else [])

    def require_groups(self, options: Sequence[object] | None) -> int:
        """How many parameter groups there are. Raises BadMessage: the options are of others."""
        groups = 0 if self.optimizer is None else len(self.optimizer.groups)
        if options is not None and len(options) != groups:
            raise BadMessage(f"options of {len(options)} parameter groups, not {groups}")
        return groups

    def finish(self, request: FinishStep) -> Effects:
        """The end of a worker's step for some tensors. Raises BadMessage."""
        groups = self.require_groups(request.groups)
        rank, step = request.rank, request.step
        if rank not in self._ranks(step):
            return Effects()
        is_applied = request.is_applied and not self.is_sums_only
        ends = [StepEnd(is_applied, options) for options in request.groups or [None] * groups]
        slots = self.separated(request.tensors)
        for number, count in zip(request.tensors, request.counts, strict=True):
            slot = slots[number]
            slot.finish(rank, step, count, ends[slot.spec.group])
        return self._progress(self._complete(request.tensors, step))

    def finalise(self, rank: int, step: int, numbers: Sequence[int], counts: Sequence[int]) -> None:
        """What a worker has pushed for these tensors is its gradient of the step."""
        if rank in self._ranks(step):
            for number, count in zip(numbers, counts, strict=True):
                self.slots[number].finalise(rank, step, count)

    def await_versions(
        self, numbers: Sequence[int], version: int, respond: Callable[[], None]
    ) -> Effects:
        """Respond once all tensors are here with at least this version."""
        answers = self._joint.wait(tuple(numbers), version, respond)
        if answers is not None:
            return Effects(calls=answers)
        slots, least = self.separated(numbers), max(version, 0)
        missing = [n for n in numbers if slots[n].version < least or slots[n].is_arriving]
        return _await(missing, self._version_waits, version, respond)

    def await_means(
        self, numbers: Sequence[int], step: int, respond: Callable[[], None]
    ) -> Effects:
        """Respond once the step's means are known. Raises BadMessage: the step has ended."""
        for number in numbers:
            if self.slots[number].version >= step:
                raise BadMessage(f"the means of step {step} are gone: all workers have ended it")
        missing = [n for n in numbers if not self.slots[n].has_mean(step)]
        effects = _await(missing, self._mean_waits, step, respond)
        return self._progress(missing, effects)

    def hold(
        self,
        number: int,
        call: Callable[[], None],
        *,
        between_steps: bool,
        version: int = 0,
        delayed: Callable[[], None] = _ignore,
    ) -> Effects:
        """Call once nothing is computed for a tensor, and nothing is until `resume`.

        `between_steps`: and nothing of its next step has arrived; `delayed` is called if something
        has. `version`: and not before the tensor has it.
        """
        self._holds[number] = _Hold(call, between_steps, version, delayed)
        return self._progress([number])

    def is_delayed(self, number: int) -> bool:
        """Whether a hold waits until the next step ends, of which something has arrived."""
        hold = self._holds.get(number)
        return hold is not None and self._is_too_late(self.slots[number], hold)

    def hasten(self, numbers: Iterable[int]) -> Effects:
        """Do not wait for a version before holds of these tensors."""
        held = [n for n in numbers if n in self._holds]
        for number in held:
            self._holds[number] = replace(self._holds[number], version=0)
        return self._progress(held)

    def when_quiet(self, call: Callable[[], None]) -> Effects:
        """Call once no gradient waits and nothing is computed: the workers compute."""
        self._quiet_calls.append(call)
        return self._progress(())

    def resume(self, numbers: Sequence[int]) -> Effects:
        """End holds, also of what was not held yet."""
        for number in numbers:
            if self._holds.pop(number, None) is None:
                self.slots[number].is_busy = False
        return self._progress(numbers)

    def adopt(self, slot: TensorSlot) -> Effects:
        """A tensor whose state is known: a promoted replica, one that arrived, or one that came
        back. Gradients that came for it before count."""
        slot.is_busy = False
        known = self.slots.get(slot.number, slot)
        self.slots[slot.number] = slot
        # Also its own: gradients of steps that it has ended were sent again while it arrived.
        return self._progress([slot.number], Effects(calls=list(slot.inherit(known))))

    def completed(self, works: Sequence[SlotWork]) -> Effects:
        """Computations are done: requests that waited for them can be answered."""
        numbers = [work.tensor for work in works]
        effects, slots = Effects(), self.separated(numbers)
        for work in works:
            effects.calls += slots[work.tensor].complete(work)
        return self._progress(numbers, effects)

    def is_joint(self, work: JointWork) -> bool:
        """Whether its tensors have not been separated since."""
        return self._joint.is_current(work)

    def completed_together(self, work: JointWork) -> Effects:
        """The same for joint tensors."""
        if self.is_joint(work):
            return Effects(calls=self._joint.complete(work))
        known = {slot.number: slot for slot in work.tensors.slots}
        here = [n for n, slot in known.items() if self.slots.get(n) is slot]
        return self.completed([part for part in work.parts() if part.tensor in here])

    def values(self, numbers: Sequence[int], version: int) -> list[Array] | None:
        """Of joint tensors, as they can be sent; None: look at each of them."""
        return self._joint.values(tuple(numbers), version)

    def size_bytes(self, numbers: Iterable[int]) -> int:
        """Of one copy of those of these tensors that are here."""
        return sum([self._slots[n].size_bytes for n in numbers if n in self._slots])

    def remove(self, number: int) -> tuple[TensorSlot, Effects]:
        """Take a tensor away; requests that wait for it are answered (and look for it)."""
        slot = self.slots.pop(number)
        effects = Effects(calls=list(slot.drop()))
        if number in self._holds:
            effects.calls.append(self._holds.pop(number).call)
        for waits in (self._version_waits, self._mean_waits):
            effects.calls += waits.remove(number)
        return slot, effects

    @property
    def is_sums_only(self) -> bool:
        """Whether the Aggregators hold no parameters."""
        return self.optimizer is not None and self.optimizer.kind == "none"

    @property
    def memory_bytes(self) -> int:
        """Of values and optimizer states."""
        return sum(slot.memory_bytes for slot in self._slots.values())

    # -- progress --------------------------------------------------------------------------------

    def _complete(self, numbers: Sequence[int], step: int) -> list[int]:
        """Of tensors of which something has arrived, those that may be computed now."""
        workers, wanted = len(self._ranks(step)), self._mean_waits.numbers
        slots = self.separated(numbers)
        return [n for n in numbers if slots[n].may_progress(workers) or n in wanted]

    def _progress(self, numbers: Iterable[int], effects: Effects | None = None) -> Effects:
        effects = effects or Effects()
        ranks_step, ranks = 0, self._ranks(0)
        pulled, wanted = self._version_waits.numbers, self._mean_waits.numbers
        slots = self.separated(numbers)
        for number in numbers:
            slot = slots[number]
            step = slot.version + 1
            if step != ranks_step:
                ranks_step, ranks = step, self._ranks(step)
            if number in pulled and not slot.is_arriving:  # See `adopt`.
                effects.calls += self._version_waits.wake(number, slot.version)
            if number in self._holds:
                self._begin_hold(slot, effects)
            is_mean_wanted = False
            if number in wanted:
                if slot.has_mean(step):
                    effects.calls += self._mean_waits.wake(number, step)
                is_mean_wanted = self._mean_waits.is_wanted(number, step)
            work = slot.next_work(ranks, is_mean_wanted=is_mean_wanted)
            if work is not None:
                effects.works.append(work)
        if self._quiet_calls and self._is_quiet():
            effects.calls += self._quiet_calls
            self._quiet_calls = []
        return effects

    def _is_quiet(self) -> bool:
        return not any(
            slot.is_busy or slot.has_gradients()
            for slot in self.slots.values()
            if not slot.is_arriving
        )

    def _begin_hold(self, slot: TensorSlot, effects: Effects) -> None:
        hold = self._holds[slot.number]
        if self._is_too_late(slot, hold):
            effects.calls.append(hold.delayed)
            return
        if slot.is_busy or slot.version < hold.version:
            return
        del self._holds[slot.number]
        slot.is_busy = True
        effects.calls.insert(0, hold.call)

    @staticmethod
    def _is_too_late(slot: TensorSlot, hold: _Hold) -> bool:
        may_begin = not slot.is_busy and slot.version >= hold.version
        return may_begin and hold.between_steps and slot.has_gradients()

    def _ranks(self, step: int) -> tuple[int, ...]:
        return () if self.workers is None else self.workers.at(step)


def _await(
    missing: Sequence[int], waits: WaitingRequests, target: int, respond: Callable[[], None]
) -> Effects:
    if not missing:
        return Effects(calls=[respond])
    waits.add(missing, target, respond)
    return Effects()
