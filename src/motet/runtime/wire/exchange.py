"""Sending control messages over connections, and reading what is answered."""

from __future__ import annotations

from typing import Any, TypeVar

from motet.runtime.wire.codec import decode, encode
from motet.runtime.wire.control_messages import ControlRequest
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import ReplyStatus
from motet.transport import Call, Reply, Request, Requester

A = TypeVar("A")


def submit(connection: Requester, message: ControlRequest) -> Call:
    """Send a control request."""
    head, arrays = encode(message)
    return connection.submit(message.kind, head, arrays)


def answer(request: Request, message: Any) -> None:
    """Answer a control request by a message; arrays must not change until they are sent."""
    head, arrays = encode(message)
    request.reply(ReplyStatus.OK, head, arrays)


def require_ok(reply: Reply) -> Reply:
    """Raises StaleGeneration unless the other end took part in the same generation."""
    if reply.status != ReplyStatus.OK:
        raise StaleGeneration("the job was reset while a request was under way")
    return reply


def answer_of(call: Call, expected: type[A], timeout_s: float | None = None) -> A:
    """Wait for an answer.

    Raises StaleGeneration, BadMessage, TimeoutError, or the other end's error.
    """
    reply = require_ok(call.wait(timeout_s))
    return decode(expected, reply.meta, reply.payload)
