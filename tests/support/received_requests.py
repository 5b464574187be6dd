"""What Aggregators of this process receive about tensors in steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from motet.aggregation.aggregator.agent_requests import AGENT_HANDLERS, AgentHandler, Services
from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.worker_requests import FinishStep, PullValues, PushGradients
from motet.transport import Request

STEP_KINDS: dict[int, Any] = {kind.kind: kind for kind in (PushGradients, FinishStep, PullValues)}
Received = list[tuple[str, tuple[int, ...]]]


@contextmanager
def received_requests() -> Iterator[Received]:
    """The kind of each, and its tensors, in the order of their arrival."""
    found: Received = []

    def noted(kind: int, handler: AgentHandler) -> AgentHandler:
        def handle(services: Services, tenant: Tenant, request: Request) -> None:
            found.append(
                (AggregatorRequest(kind).name, STEP_KINDS[kind].decode(request.meta).tensors)
            )
            handler(services, tenant, request)

        return handle

    handlers = {kind: noted(kind, AGENT_HANDLERS[kind]) for kind in STEP_KINDS}
    with mock.patch.dict(AGENT_HANDLERS, handlers):  # type: ignore[arg-type]
        yield found


def tensors_of(received: Received, kind: str) -> list[tuple[int, ...]]:
    """Of the requests of a kind."""
    return [tensors for name, tensors in received if name == kind]
