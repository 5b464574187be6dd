"""Mode "aggregators": the optimizer runs on the Aggregators; workers push and pull."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from motet.aggregation.agent.gradient_service import GradientService
from motet.domain.errors import MotetError
from motet.torch.buckets.partition import Buckets
from motet.torch.buckets.slot_bucket import SlotBucket
from motet.torch.flags import Flags, OptimizerPlace
from motet.torch.optimizer_options import arrays_of_state, group_options, state_of_arrays
from motet.torch.overlap.incoming_values import IncomingValues
from motet.torch.overlap.outgoing_gradients import OutgoingGradients
from motet.torch.patience import wait_for
from motet.torch.slots import Slot


class RemoteOptimizer:
    """The optimizer of a program, run by the Aggregators.

    Gradients leave while `backward` runs. `step()` ends the step of the job and returns when the
    parameters have their new values; with `overlap` it returns at once, and the first use of each
    parameter waits for its value. The program's optimizer keeps its options and has no state.
    """

    def __init__(
        self,
        service: GradientService,
        slots: Sequence[Slot],
        buckets: Buckets,
        flags: Flags,
        optimizer: torch.optim.Optimizer,
        *,
        overlap: bool = False,
    ) -> None:
        self._service, self._slots, self._flags = service, slots, flags
        self._optimizer = optimizer
        self._stepped = [slot for slot in slots if slot.is_stepped]
        self._buckets = buckets
        self._values = IncomingValues(service, buckets.parts(self._stepped))
        self._outgoing = OutgoingGradients(service)
        self._overlap = overlap
        self._known = {id(slot.parameter) for slot in slots}
        self._ready = dict.fromkeys((slot.number for slot in slots), 0)
        self._expected = dict.fromkeys((slot.number for slot in slots), 1)
        self._sent: set[int] = set()
        self._hidden: list[tuple[torch.nn.Parameter, torch.Tensor]] = []
        self._is_state_local = bool(optimizer.state)
        self._is_value_local = False
        self.is_paused = False
        for slot in slots:
            slot.accept_value()

    def gradient_ready(self, slot: Slot) -> None:
        """Autograd has accumulated the gradient of a parameter.

        It is sent after as many calls of `backward` as the step before had; after fewer, `step`
        sends it, after more, the last one counts. After values or state were loaded `step` sends
        it, too: an upload before would write into parameters that `backward` still needs.
        """
        if not slot.is_stepped:
            return
        number = slot.number
        self._ready[number] += 1
        self._sent.discard(number)
        slot.note_gradient()
        if self.is_paused or self._is_loaded or self._ready[number] < self._expected[number]:
            return
        bucket = self._buckets.of.get(number)
        if bucket is None:
            self._push(slot)
            self._outgoing.flush_after_backward()
        elif bucket.is_complete_with(number):
            self._push_bucket(bucket, bucket.numbers)

    def before_step(self) -> None:
        """Run the step on the Aggregators; the program's own finds no gradients."""
        self._values.settle()
        self._refuse_changes()
        if self._is_loaded:
            self.upload()
        self._push_rest()
        self._outgoing.flush()
        self._service.finish_step(group_options([self._optimizer]))
        self._values.request(overlap=self._overlap)
        self._count_backwards()
        self._hide_gradients()

    def after_step(self) -> None:
        """Give the program its gradients back: it may accumulate into them."""
        for parameter, gradient in self._hidden:
            parameter.grad = gradient
        self._hidden = []

    def values_were_loaded(self) -> None:
        """Rank 0's parameters count from the next step on. In all workers."""
        self._is_value_local = True

    def state_was_loaded(self) -> None:
        """Rank 0's state of the optimizer counts from the next step on. In all workers."""
        self._is_state_local = True

    def fetch_state(self) -> None:
        """Fill the state of the program's optimizer."""
        if self._is_state_local:
            return
        for slot, arrays in zip(self._slots, self._service.state(), strict=False):
            if slot.is_stepped and arrays:
                self._optimizer.state[slot.parameter] = state_of_arrays(arrays, slot.parameter)

    def drop_state(self) -> None:
        """Free what `fetch_state` has filled in."""
        if not self._is_state_local:
            self._optimizer.state.clear()

    def upload(self) -> None:
        """Make parameters and state of rank 0 those of the job. In all workers, between steps."""
        self._values.settle()
        self.fetch_state()
        self._is_state_local = self._is_value_local = False
        self._flags.place = OptimizerPlace.AGGREGATORS
        values = [slot.current_value() for slot in self._slots]
        states = [arrays_of_state(self._optimizer.state.get(s.parameter, {})) for s in self._slots]
        self._service.load([*values, self._flags.value], [*states, {}])
        self._values.request(overlap=False)
        self.drop_state()

    def close(self) -> None:
        """Let the program go on with its own optimizer."""
        self._values.settle()
        self.fetch_state()
        for slot in self._slots:
            slot.forget_gradient()

    @property
    def _is_loaded(self) -> bool:
        """Whether rank 0's parameters or state are to be uploaded."""
        return self._is_state_local or self._is_value_local

    def _push(self, slot: Slot) -> None:
        slot.note_gradient()
        self._outgoing.push(slot)
        self._sent.add(slot.number)

    def _push_bucket(self, bucket: SlotBucket, numbers: tuple[int, ...]) -> None:
        bucket.push(numbers)
        self._sent.update(numbers)

    def _push_rest(self) -> None:
        """Gradients that no `backward` has sent."""
        if len(self._sent) == len(self._stepped):
            return
        rest = [s for s in self._stepped if s.number not in self._sent and s.gradient is not None]
        for slot in rest:
            slot.note_gradient()
            if slot.number not in self._buckets.of:
                self._push(slot)
        for bucket, numbers in self._buckets.members({slot.number for slot in rest}):
            self._push_bucket(bucket, numbers)

    def _count_backwards(self) -> None:
        for number, count in self._ready.items():
            if count:
                self._expected[number], self._ready[number] = count, 0
        self._sent = set()

    def _hide_gradients(self) -> None:
        for slot in self._stepped:
            gradient = slot.parameter.grad
            if gradient is not None:
                self._hidden.append((slot.parameter, gradient))
                slot.parameter.grad = None
            slot.forget_gradient()
        for bucket in self._buckets.every:
            bucket.forget_gradients()

    def _refuse_changes(self) -> None:
        for options in self._optimizer.param_groups:
            if not self._known.issuperset(map(id, options["params"])):
                raise MotetError(
                    "the optimizer has parameters that it had not when it was attached; after "
                    "add_param_group close the attachment and attach again"
                )
        for slot in self._stepped:
            if self._ready[slot.number] and slot.is_gradient_changed():
                raise MotetError(
                    f"the gradient of {slot.name!r} was changed between backward() and step(), "
                    "as clipping does, but the Aggregators have it already; attach with "
                    "mode='averaged'"
                )
        if not self._is_value_local:
            self._refuse_changed_values()

    def _refuse_changed_values(self) -> None:
        """A version counter says that the program wrote; the value says whether it differs, since
        programs put averaged weights in for an evaluation, and the trained ones back."""
        for slot in self._stepped:
            if not slot.is_value_touched():
                continue
            found = np.empty_like(slot.current_value())
            wait_for(self._service.pull(slot.number, found), f"the value of {slot.name!r}")
            if not np.array_equal(found.view(np.uint8), slot.current_value().view(np.uint8)):
                raise MotetError(
                    f"parameter {slot.name!r} was changed outside of step(), but the Aggregators "
                    "have the master copy; call parameters_changed() of the attachment in every "
                    "process after such a change, or attach with mode='averaged'"
                )
            slot.accept_value()
