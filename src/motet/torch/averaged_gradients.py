"""Mode "averaged": gradients are averaged over the workers, which step by their own optimizers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import torch

from motet.aggregation.agent.gradient_service import GradientService, Pending
from motet.aggregation.wire.tensor_spec import GroupOptions
from motet.torch.buckets.partition import Buckets
from motet.torch.buckets.slot_bucket import SlotBucket
from motet.torch.flags import Flags, OptimizerPlace
from motet.torch.gradient_watch import CLEAN_STEPS, GradientWatch
from motet.torch.overlap.outgoing_gradients import OutgoingGradients
from motet.torch.patience import wait_for
from motet.torch.slots import Slot


class AveragedGradients:
    """Each `backward` is one round: a step of the job on which the Aggregators run no optimizer.

    As with DistributedDataParallel, gradients hold the means when `backward` returns, also the
    ones of parameters that only other workers used.
    """

    def __init__(
        self,
        service: GradientService,
        slots: Sequence[Slot],
        buckets: Buckets,
        flags: Flags,
        options: Callable[[], Sequence[GroupOptions]],
        watch: GradientWatch | None = None,
    ) -> None:
        """`watch`: to find out whether the optimizer can run on the Aggregators."""
        self._service, self._slots, self._flags = service, slots, flags
        self._options = options
        self._watch = watch
        self._task = -1
        self._pushed: set[int] = set()
        self._unsent: set[int] = set()
        self._collected: set[int] = set()
        self._means: dict[int, Pending] = {}
        self._buckets = buckets
        self._outgoing = OutgoingGradients(service, self._request_large)
        self.is_paused = False
        self.is_handover_agreed = False

    def gradient_ready(self, slot: Slot) -> None:
        """Autograd has accumulated the gradient of a parameter."""
        if self.is_paused:
            self._unsent.add(slot.number)
            return
        self._begin_round()
        self._push(slot)

    def before_step(self) -> None:
        """The program's optimizer is about to step."""
        if self._watch:
            self._watch.before_step()

    def after_step(self) -> None:
        """The program's optimizer has stepped."""
        if self._watch:
            self._watch.after_step()

    def close(self) -> None:
        """Drop the memory of gradients."""
        for slot in self._slots:
            slot.forget_gradient()
            slot.forget_mean()
        for bucket in self._buckets.every:
            bucket.forget_gradients()
            bucket.forget_means()

    def _begin_round(self) -> None:
        task = torch._C._current_graph_task_id()
        if task == self._task:
            return
        self._task = task
        self._pushed, self._collected, self._means = set(), set(), {}
        torch.autograd.Variable._execution_engine.queue_callback(self._end_round)

    def _push(self, slot: Slot) -> None:
        self._pushed.add(slot.number)
        self._unsent.discard(slot.number)
        bucket = self._buckets.of.get(slot.number)
        if bucket is None:
            self._outgoing.push(slot)
            return
        self._collected.add(slot.number)
        if bucket.is_complete_with(slot.number):
            self._push_bucket(bucket, bucket.numbers)

    def _push_bucket(self, bucket: SlotBucket, numbers: tuple[int, ...]) -> None:
        bucket.push(numbers)
        self._collected.difference_update(numbers)

    def _push_rest(self, numbers: Iterable[int]) -> None:
        """These gradients, and those of buckets that are not complete."""
        for number in sorted(numbers):
            self._push(self._slots[number])
        if self._collected:
            for bucket, collected in self._buckets.members(self._collected):
                self._push_bucket(bucket, collected)
        self._outgoing.flush()

    def _end_round(self) -> None:
        self._task = -1
        self._push_rest(self._unsent)
        is_changing = bool(self._watch and self._watch.is_changing)
        used = self._flags.exchange(self._service, self._pushed, is_changing=is_changing)
        others = used - self._pushed  # Their gradients are of an earlier `backward`.
        self._push_rest([n for n in others if self._slots[n].gradient is not None])
        in_buckets = self._buckets.members(used)
        together = [(bucket, own, bucket.request_means(own)) for bucket, own in in_buckets]
        alone = [n for n in sorted(used) if n not in self._buckets.of]
        pending = {number: self._means.get(number) or self._mean(number) for number in alone}
        for bucket, _, each in together:
            wait_for(each, f"the mean gradients of {bucket.name}")
        for number, each in pending.items():
            wait_for(each, f"the mean gradient of {self._slots[number].name!r}")
        self._service.finish_step(self._options(), is_applied=False)
        with torch.no_grad():
            for bucket, own, _ in together:
                bucket.means_came(own)
            for number in pending:
                self._slots[number].mean_came()
        self._look(used)

    def _request_large(self, slot: Slot) -> None:
        """Large means come while `backward` goes on. Small ones travel together."""
        if slot.is_large:
            self._means[slot.number] = self._mean(slot.number)

    def _mean(self, number: int) -> Pending:
        return self._service.mean(number, self._slots[number].incoming_mean())

    def _look(self, numbers: Collection[int]) -> None:
        if not self._watch:
            return
        if self._flags.is_any_changing:
            self._watch = None
            self._stay()
            return
        self._watch.gradients_are(numbers)
        self.is_handover_agreed = self._watch.steps >= CLEAN_STEPS

    def _stay(self) -> None:
        """Let workers that join know that the optimizer stays here. In all workers."""
        self._flags.place = OptimizerPlace.WORKERS
        self._service.load([self._flags.value], [{}], self._flags.number)
