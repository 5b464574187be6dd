"""What an Aggregator does with each request of an Agent: one handler per kind, found in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from motet.aggregation.aggregator.broadcasts import Missing
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.tensors.effects import Effects
from motet.aggregation.tensors.gradient_memory import PushedBatch
from motet.aggregation.tensors.gradient_memory import size_bytes as size_bytes_of
from motet.aggregation.tensors.step_gradients import WorkerGradient
from motet.aggregation.tensors.waiting_requests import after_all
from motet.aggregation.wire.job_requests import (
    BroadcastArrays,
    RegisterTensors,
    TensorsRegistered,
)
from motet.aggregation.wire.locations import encode_locations
from motet.aggregation.wire.message_kinds import AggregatorRequest, TensorStatus
from motet.aggregation.wire.tensor_image import TensorImage, decode_images, encode_images
from motet.aggregation.wire.worker_requests import (
    FinishStep,
    PullMeans,
    PullValues,
    PushGradients,
    WorkerRequest,
)
from motet.domain.arrays import Array
from motet.runtime.wire.codec import decode, encode
from motet.runtime.wire.errors import BadMessage
from motet.transport import Request


class Services(Protocol):
    """What handlers need of their Aggregator."""

    def carry_out(self, tenant: Tenant, effects: Effects) -> None:
        """Compute works and answer requests; call it without the job's lock."""
        ...

    def answer(self, tenant: Tenant, size_bytes: int, call: Callable[[], None]) -> None:
        """Run a call that copies so many bytes: if they are many, on another thread, unless no work
        waits, and if the job's step is late, when the cycle has room."""
        ...

    def loaded(self, tenant: Tenant, numbers: Sequence[int], call: Callable[[], None]) -> None:
        """Tensors have new contents; call once their replicas have them too."""
        ...

    def when_kept(self, tenant: Tenant, call: Callable[[], None]) -> None:
        """Call once the replica has the latest joint copy too."""
        ...


AgentHandler: TypeAlias = Callable[[Services, Tenant, Request], None]


def _register(services: Services, tenant: Tenant, request: Request) -> None:
    message = decode(RegisterTensors, request.meta)
    if len(message.numbers) != len(message.specs):
        raise BadMessage(f"{len(message.numbers)} numbers for {len(message.specs)} tensors")
    with tenant.lock:
        if moved := {n: tenant.moved[n] for n in message.numbers if n in tenant.moved}:
            request.reply(TensorStatus.MOVED, encode_locations(moved))
            return
        tensors = tenant.tensors
        specs = dict(zip(message.numbers, message.specs, strict=True))
        tensors.register(specs, message.optimizer_spec(), message.workers)
        tenant.reserve()
        versions = tuple(tensors.slots[n].version for n in message.numbers)
        first_step = tensors.first_step(message.rank)
    head, _ = encode(TensorsRegistered(versions, first_step))
    request.reply(TensorStatus.OK, head)


def _put_values(services: Services, tenant: Tenant, request: Request) -> None:
    images = decode_images(request.meta, request.payload)
    effects = Effects()
    with tenant.lock:
        if _is_elsewhere(tenant, [image.tensor for image in images], request):
            return
        for image in images:
            if image.value is None:
                raise BadMessage(f"tensor {image.tensor} came without a value")
            effects.add(tenant.tensors.put_value(image.tensor, image.value.reshape(-1).data))
    services.loaded(tenant, [image.tensor for image in images], request.reply)
    services.carry_out(tenant, effects)


def _push(services: Services, tenant: Tenant, request: Request) -> None:
    message = PushGradients.decode(request.meta)
    with tenant.lock:
        if _is_elsewhere(tenant, message.tensors, request):
            return
        tenant.require_alive()
        effects = _push_together(tenant, message, request)
        if effects is None:
            effects = _push_each(tenant, message, request)
    services.carry_out(tenant, effects)


def _push_together(tenant: Tenant, message: PushGradients, request: Request) -> Effects | None:
    """None: each tensor needs a note of its own."""
    size_bytes = len(request.payload)
    found = tenant.tensors.joint(message, size_bytes)
    if found is None:
        return None
    tenant.hold(size_bytes)
    done = partial(_consumed, tenant, request, message.tensors, tenant.give_ups, size_bytes)
    tenant.note_end(message.rank, message.step)
    return tenant.tensors.push_together(found, message, request.payload, done)


def _push_each(tenant: Tenant, message: PushGradients, request: Request) -> Effects:
    known = tenant.tensors.separated(message.tensors)
    slots = [known[n] for n in message.tensors]
    specs = [slot.spec for slot in slots]
    size_bytes = sum([slot.size_bytes for slot in slots])
    if message.is_halved:
        specs = [spec.on_the_wire(is_halved=True) for spec in specs]
        size_bytes = sum(map(size_bytes_of, specs))
    payload = request.payload
    if size_bytes != len(payload):
        raise BadMessage(
            f"job {tenant.access.job}, rank {message.rank}: {len(payload)} bytes of gradients "
            f"for tensors of {size_bytes}"
        )
    for slot in slots:
        if message.step > slot.version + 1:
            slot.require_open(message.step)
    tenant.tensors.require_groups(message.groups)  # Before the gradients have effects.
    tenant.hold(size_bytes)
    done = partial(_consumed, tenant, request, message.tensors, tenant.give_ups, size_bytes)
    release = after_all(len(slots), done)
    batch = PushedBatch(payload, message.tensors, specs)
    gradients = [
        WorkerGradient(count, gradient, release, batch)
        for count, gradient in zip(message.counts, batch.parts, strict=True)
    ]
    effects = tenant.tensors.push(
        *(message.rank, message.step, message.tensors, gradients), ends_step=message.ends_step
    )
    if message.ends_step:
        tenant.note_end(message.rank, message.step)
        effects.add(tenant.tensors.finish(message.end))
    return effects


def _finish(services: Services, tenant: Tenant, request: Request) -> None:
    message = FinishStep.decode(request.meta)
    with tenant.lock:
        if _is_elsewhere(tenant, message.tensors, request):
            return
        tenant.require_alive()
        tenant.note_end(message.rank, message.step)
        tensors = tenant.tensors
        effects = tensors.finish(message)
        slots = tensors.separated(message.tensors)
        arriving = [n for n in message.tensors if slots[n].is_arriving]
        done = partial(_answer_kept, tenant, request, message.tensors, tenant.give_ups)
        effects.add(tensors.await_versions(arriving, 0, done))
    services.carry_out(tenant, effects)


def _pull(services: Services, tenant: Tenant, request: Request) -> None:
    message = PullValues.decode(request.meta)
    version = max(message.step, 0)

    def arrays() -> list[Array] | None:
        values = tenant.tensors.values(message.tensors, version)
        if values is not None:
            return values
        found = [tenant.readable(n, version) for n in message.tensors]
        present = [slot.value_array() for slot in found if slot is not None]
        return present if len(present) == len(found) else None

    with tenant.lock:
        tenant.require_alive()
        if tenant.tensors.is_sums_only:
            raise BadMessage("the Aggregators of this job hold no parameters: there are only means")
        respond = _respond_with(services, tenant, message, request, arrays)
        waits = [n for n in message.tensors if n in tenant.tensors.numbers]
        effects = tenant.tensors.await_versions(waits, version, respond)
    services.carry_out(tenant, effects)


def _mean(services: Services, tenant: Tenant, request: Request) -> None:
    message = PullMeans.decode(request.meta)

    def arrays() -> list[Array] | None:
        if tenant.elsewhere(message.tensors):
            return None
        slots = [tenant.tensors.slots[n] for n in message.tensors]
        if not all(slot.has_mean(message.step) for slot in slots):
            return None
        return [slot.mean(message.step, is_halved=message.is_halved) for slot in slots]

    with tenant.lock:
        if _is_elsewhere(tenant, message.tensors, request):
            return
        tenant.require_alive()
        tensors = tenant.tensors
        tensors.finalise(message.rank, message.step, message.tensors, message.counts)
        respond = _respond_with(services, tenant, message, request, arrays)
        effects = tensors.await_means(message.tensors, message.step, respond)
    services.carry_out(tenant, effects)


def _read_state(services: Services, tenant: Tenant, request: Request) -> None:
    message = PullValues.decode(request.meta)

    def respond() -> None:
        with tenant.lock:
            if not _is_answered(tenant, message.tensors, request):
                slots = [tenant.tensors.slots[n] for n in message.tensors]
                images = [TensorImage(s.number, s.version, None, s.state()) for s in slots]
                request.reply(TensorStatus.OK, *encode_images(images))

    with tenant.lock:
        if _is_elsewhere(tenant, message.tensors, request):
            return
        effects = tenant.tensors.await_versions(message.tensors, message.step, respond)
    services.carry_out(tenant, effects)


def _load_state(services: Services, tenant: Tenant, request: Request) -> None:
    images = decode_images(request.meta, request.payload)
    numbers = [image.tensor for image in images]

    def load() -> None:
        with tenant.lock:
            if _is_answered(tenant, numbers, request):
                return
            try:
                for image in images:
                    tenant.tensors.slots[image.tensor].load(image)
            except Exception as error:  # Of this request; the job goes on.
                request.fail(error)
                return
        services.loaded(tenant, numbers, request.reply)

    with tenant.lock:
        if _is_elsewhere(tenant, numbers, request):
            return
        # The copy of a tensor that arrives here would replace what is loaded before it.
        version = max((image.version for image in images), default=0)
        effects = tenant.tensors.await_versions(numbers, version, load)
    services.carry_out(tenant, effects)


def _broadcast(services: Services, tenant: Tenant, request: Request) -> None:
    message = decode(BroadcastArrays, request.meta)
    payload = bytes(request.payload) if request.payload or message.is_source else None

    def respond(data: bytes | Missing) -> None:
        if tenant.failure is not None:
            request.fail(tenant.failure)
        elif data is Missing.SOURCE:
            request.reply(TensorStatus.SEND)
        elif data is Missing.ELSEWHERE:
            with tenant.lock:
                moved = encode_locations(tenant.elsewhere([message.tensor]))
            request.reply(TensorStatus.MOVED, moved)
        else:
            request.reply(TensorStatus.OK, b"", [] if message.is_source else [data])

    with tenant.lock:
        if _is_elsewhere(tenant, [message.tensor], request):
            return
        calls = tenant.ask_broadcast(message, payload, respond)
    if calls:
        services.when_kept(tenant, lambda: services.carry_out(tenant, Effects(calls=calls)))


AGENT_HANDLERS: Mapping[int, AgentHandler] = {
    AggregatorRequest.REGISTER: _register,
    AggregatorRequest.PUT_VALUES: _put_values,
    AggregatorRequest.PUSH: _push,
    AggregatorRequest.FINISH: _finish,
    AggregatorRequest.PULL: _pull,
    AggregatorRequest.MEAN: _mean,
    AggregatorRequest.READ_STATE: _read_state,
    AggregatorRequest.LOAD_STATE: _load_state,
    AggregatorRequest.BROADCAST: _broadcast,
}


# -- answers -----------------------------------------------------------------------------------


def _is_elsewhere(tenant: Tenant, numbers: Sequence[int], request: Request) -> bool:
    """Whether the request was answered, because a tensor is not here. All or nothing."""
    elsewhere = tenant.elsewhere(numbers)
    if elsewhere:
        request.reply(TensorStatus.MOVED, encode_locations(elsewhere))
    return bool(elsewhere)


def _is_answered(tenant: Tenant, numbers: Sequence[int], request: Request) -> bool:
    """The same when a request has waited: its job may have failed meanwhile."""
    if tenant.failure is not None:
        request.fail(tenant.failure)
        return True
    return _is_elsewhere(tenant, numbers, request)


def _respond_with(
    services: Services,
    tenant: Tenant,
    message: WorkerRequest,
    request: Request,
    arrays: Callable[[], list[Array] | None],
) -> Callable[[], None]:
    """How to answer with tensors, whose copies are made without the job's lock."""

    def send() -> None:
        with tenant.lock:
            found = None if tenant.failure is not None else arrays()
            if found is None:
                if not _is_answered(tenant, message.tensors, request):
                    # A replica was promoted meanwhile: it lacks what was sent for this step.
                    unknown = dict.fromkeys(message.tensors, "")
                    request.reply(TensorStatus.MOVED, encode_locations(unknown))
                return
            locations = encode_locations(tenant.new_locations(message.tensors))
        request.reply(TensorStatus.OK, locations, found)

    def respond() -> None:
        with tenant.lock:
            size = tenant.tensors.size_bytes(message.tensors)
        services.answer(tenant, size, send)

    return respond


def _consumed(
    tenant: Tenant, request: Request, tensors: Sequence[int], give_ups: int, size_bytes: int
) -> None:
    """Gradients are not needed any more: added up, replaced, or given up with their tensor."""
    tenant.free(size_bytes)
    if not request.is_answered:
        _answer_kept(tenant, request, tensors, give_ups)


def _answer_kept(tenant: Tenant, request: Request, tensors: Sequence[int], give_ups: int) -> None:
    """What was sent is kept, unless a tensor was given up since: what takes over lacks it."""
    with tenant.lock:
        given_up = tenant.given_up_since(tensors, give_ups)
    if given_up:
        request.reply(TensorStatus.MOVED, encode_locations(given_up))
    else:
        request.reply()
