"""Attach a PyTorch program to the Aggregators of its job; its training loop stays as it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, TypeAlias

import torch

from motet.aggregation.agent.gradient_service import GradientService
from motet.aggregation.wire.tensor_spec import GroupOptions, OptimizerSpec
from motet.domain.errors import BadInput, MotetError
from motet.torch.averaged_gradients import AveragedGradients
from motet.torch.buckets.partition import buckets_of
from motet.torch.buffers import broadcast_buffers, broadcast_parameters
from motet.torch.discovery import service_of_environment
from motet.torch.flags import Flags, OptimizerPlace
from motet.torch.gradient_watch import GradientWatch
from motet.torch.optimizer_options import group_options, optimizer_kind
from motet.torch.own_hook import OwnHook
from motet.torch.refusals import refuse_overlap, refuse_what_cannot_work
from motet.torch.remote_optimizer import RemoteOptimizer
from motet.torch.slots import Slot, slots_of
from motet.torch.staging.host_memory import HostMemory

_LOG = logging.getLogger(__name__)

Optimizers: TypeAlias = torch.optim.Optimizer | Sequence[torch.optim.Optimizer]
_MARK = "_is_attached_to_motet"


def attach(
    model: torch.nn.Module,
    optimizer: Optimizers,
    *,
    service: GradientService | None = None,
    mode: Literal["auto", "averaged", "aggregators"] = "auto",
    steps_done: int = 0,
    loss_limit: float | None = None,
    overlap: bool = False,
    compression: Literal["bfloat16"] | None = None,
) -> Attachment:
    """Train `model` with the other workers of the job. All workers call it, with equal models.

    Rank 0's parameters and buffers count. `service`: None: that of the environment, as `motet`
    starts a job.

    `mode`: "averaged": `p.grad` holds the mean over the workers when `backward` returns, and the
    optimizer steps in each worker. "aggregators": the optimizer runs on the Aggregators, workers
    keep no state of it; gradients cannot be changed (clipped) before `step`. "auto": the first;
    the second from the fourth step on if the first steps change no gradients and the optimizer is
    one of SGD, Adam, AdamW. A worker that joins the job before that waits for it, and is refused if
    the optimizer stays in the workers.

    `steps_done`: of the model before, as its checkpoint tells; rank 0's count.
    `loss_limit`: the share of its speed that the job must not lose to others of the pool; None: as
    its job file, its queue or the pool says. Only without `service`.
    `overlap`: while the optimizer runs on the Aggregators, `step()` returns before the new values
    of the parameters are there, and the first use of each one waits for it. `compression`:
    gradients of float32, and their means, travel as bfloat16; sums and parameters are exact.

    Raises BadInput: what cannot work, before anything is sent. PlaceUndecided: with `service`, a
    worker that joins before mode "auto" has decided; it may attach again some steps later.
    """
    optimizers = (optimizer,) if isinstance(optimizer, torch.optim.Optimizer) else (*optimizer,)
    refuse_what_cannot_work(model, optimizers, mode)
    if compression not in (None, "bfloat16"):
        raise BadInput(f"compression={compression!r}; it is 'bfloat16' or None")
    if overlap:
        refuse_overlap(model, mode)
    if any(getattr(each, _MARK, False) for each in optimizers):
        raise BadInput("the optimizer is attached already; close that attachment first")
    if steps_done < 0:
        raise BadInput(f"steps_done is {steps_done}; it must be 0 or more")
    options = AttachOptions(mode, steps_done, overlap, is_compressed=compression is not None)
    if service is None:
        return _attached_to_pool(model, optimizers, options, loss_limit)
    if loss_limit is not None:
        raise BadInput("loss_limit: of the environment's pool; leave out service, or loss_limit")
    return Attachment(model, optimizers, service, options)


def _attached_to_pool(
    model: torch.nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    options: AttachOptions,
    loss_limit: float | None,
) -> Attachment:
    """A worker that came too early leaves before its first step. pMaster lets it join again some
    steps later."""
    while True:
        service = service_of_environment(loss_limit=loss_limit)
        try:
            return Attachment(model, optimizers, service, options)
        except PlaceUndecided as error:
            _LOG.info("rank %d: %s; it joins some steps later", service.rank, error)
            service.close()


class PlaceUndecided(MotetError):
    """A worker joins before its job has found out where the optimizer runs."""


@dataclass(frozen=True)
class AttachOptions:
    """As `attach` is told."""

    mode: str = "auto"
    steps_done: int = 0
    overlap: bool = False
    is_compressed: bool = False


class Attachment:
    """A program that trains on Aggregators, until it is closed."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        service: GradientService,
        options: AttachOptions,
    ) -> None:
        """Use `attach`."""
        self._overlap = options.overlap
        self.service = service
        self._model, self._optimizers = model, optimizers
        self._slots = slots_of(model, optimizers, HostMemory(service))
        for slot in self._slots if options.is_compressed else ():
            slot.compress()
        self._flags = Flags(len(self._slots))
        self._gradients = Lock()
        can_hand_over = len(optimizers) == 1 and optimizer_kind(optimizers[0]) != "none"
        self._is_remote_possible = can_hand_over and options.mode != "averaged"
        self._flags.place = self._first_place(options.mode)
        self._flags.earlier_steps = options.steps_done
        self._initialise()
        self._buckets = buckets_of(service, self._slots, of_neighbours=options.overlap)
        self._phase: AveragedGradients | RemoteOptimizer = self._first_phase()
        self._removals = [*self._parameter_hooks(), *self._model_hooks()]
        for each in optimizers:
            self._removals += self._optimizer_hooks(each)
            setattr(each, _MARK, True)

    @property
    def mode(self) -> Literal["averaged", "aggregators"]:
        """Where the optimizer runs now."""
        return "aggregators" if isinstance(self._phase, RemoteOptimizer) else "averaged"

    @property
    def steps_done(self) -> int:
        """Steps of the model: those of `attach`, and those of the job since then, also in a worker
        that joins later. While the optimizer runs in the workers, each `backward` that sends
        gradients is a step."""
        return self._flags.earlier_steps + self.service.steps_done

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Send no gradients for the time being, as in DistributedDataParallel: gradients of
        several batches add up and are sent once, by the first `backward` after it."""
        self._phase.is_paused = True
        try:
            yield
        finally:
            self._phase.is_paused = False

    def parameters_changed(self) -> None:
        """Say that parameters were changed outside of `step()`; rank 0's count. In all workers."""
        if isinstance(self._phase, RemoteOptimizer):
            self._phase.values_were_loaded()

    def close(self) -> None:
        """Leave the job after a step. The program goes on with its own optimizer and its state."""
        if not self._removals:
            return
        self._phase.close()
        for removal in self._removals:
            removal.remove()
        self._removals = []
        for each in self._optimizers:
            delattr(each, _MARK)
        self.service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _initialise(self) -> None:
        """Register the tensors; every worker gets the values of rank 0, or of the job."""
        kind = optimizer_kind(self._optimizers[0]) if self._is_remote_possible else "none"
        groups = self._options()
        if kind == "none":
            groups = ({},) * len(groups)
        values = [slot.incoming_value() for slot in self._slots]
        tensors = [*(slot.spec for slot in self._slots), self._flags.spec]
        spec = OptimizerSpec(kind, groups)
        version = self.service.initialise(tensors, spec, [*values, self._flags.value])
        for slot in self._slots:
            slot.value_came()
        if version and self._flags.place is OptimizerPlace.AGGREGATORS:
            self._optimizers[0].state.clear()
            return
        if version:
            self._refuse_to_join(version)
        if kind == "none":
            self.service.broadcast([self._flags.value])
        broadcast_parameters(self.service, self._model)
        broadcast_buffers(self.service, self._model)

    def _first_place(self, mode: str) -> OptimizerPlace:
        if mode == "aggregators":
            return OptimizerPlace.AGGREGATORS
        return OptimizerPlace.UNDECIDED if self._is_remote_possible else OptimizerPlace.WORKERS

    def _refuse_to_join(self, version: int) -> NoReturn:
        if self._flags.place is OptimizerPlace.UNDECIDED:
            raise PlaceUndecided(
                f"after {version} steps the job has not found out yet where its optimizer runs"
            )
        raise MotetError(
            f"the job has done {version} steps with the optimizer in its workers, which have "
            "the parameters; a worker can join while the optimizer runs on the Aggregators: "
            "attach with mode='aggregators' in all workers"
        )

    def _first_phase(self) -> AveragedGradients | RemoteOptimizer:
        if self._flags.place is OptimizerPlace.AGGREGATORS:
            return self._remote()
        for slot in self._slots:
            slot.forget_value()
        watch = GradientWatch(self._slots) if self._is_remote_possible else None
        parts = self._slots, self._buckets, self._flags
        return AveragedGradients(self.service, *parts, self._options, watch)

    def _remote(self) -> RemoteOptimizer:
        parts = self._slots, self._buckets, self._flags
        return RemoteOptimizer(self.service, *parts, self._optimizers[0], overlap=self._overlap)

    def _options(self) -> tuple[GroupOptions, ...]:
        return group_options(self._optimizers)

    def _parameter_hooks(self) -> Iterator[Any]:
        devices = {slot.parameter.device for slot in self._slots}
        # Autograd has a thread for each device.
        ready = self._gradient_ready if len(devices) < 2 else self._gradient_ready_in_turn
        for slot in self._slots:
            parameter, is_trained = slot.parameter, slot.parameter.requires_grad
            parameter.requires_grad_(True)  # The hook stays when the parameter is frozen again.
            yield parameter.register_post_accumulate_grad_hook(partial(ready, slot))
            parameter.requires_grad_(is_trained)

    def _model_hooks(self) -> Iterator[Any]:
        if any(True for _ in self._model.buffers()):
            yield self._model.register_forward_pre_hook(OwnHook(self._before_forward))
        if self._is_remote_possible:
            loaded = OwnHook(self.parameters_changed)
            yield self._model.register_load_state_dict_post_hook(loaded)

    def _optimizer_hooks(self, optimizer: torch.optim.Optimizer) -> Iterator[Any]:
        yield optimizer.register_step_pre_hook(self._before_step)
        yield optimizer.register_step_post_hook(self._after_step)
        if self._is_remote_possible:
            yield optimizer.register_state_dict_pre_hook(self._before_state_dict)
            yield optimizer.register_state_dict_post_hook(self._after_state_dict)
            yield optimizer.register_load_state_dict_post_hook(self._after_load_state_dict)

    def _gradient_ready(self, slot: Slot, _: torch.Tensor) -> None:
        self._phase.gradient_ready(slot)

    def _gradient_ready_in_turn(self, slot: Slot, _: torch.Tensor) -> None:
        with self._gradients:
            self._phase.gradient_ready(slot)

    def _before_forward(self) -> None:
        if self._model.training and torch.is_grad_enabled():
            broadcast_buffers(self.service, self._model)

    def _before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        changed = _with_evaluated_closure(args, kwargs) if self._is_remote_possible else None
        self._phase.before_step()
        return changed

    def _after_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._phase.after_step()
        if isinstance(self._phase, AveragedGradients) and self._phase.is_handover_agreed:
            self._phase.close()
            remote = self._remote()
            remote.upload()
            self._phase = remote

    def _before_state_dict(self, _: torch.optim.Optimizer) -> None:
        if isinstance(self._phase, RemoteOptimizer):
            self._phase.fetch_state()

    def _after_state_dict(self, _: torch.optim.Optimizer, __: dict[str, Any]) -> None:
        if isinstance(self._phase, RemoteOptimizer):
            self._phase.drop_state()

    def _after_load_state_dict(self, _: torch.optim.Optimizer) -> None:
        if isinstance(self._phase, RemoteOptimizer):
            self._phase.state_was_loaded()


def _with_evaluated_closure(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of `step(closure)` with the loss in place of the closure, which calls
    `backward` and therefore comes before the end of the step. `args`: the optimizer is first."""
    optimizer, *rest = args
    closure: Callable[[], Any] | None = kwargs.get("closure") or (rest[0] if rest else None)
    if closure is None:
        return None
    with torch.enable_grad():
        loss = closure()
    return (optimizer, lambda: loss), {}
