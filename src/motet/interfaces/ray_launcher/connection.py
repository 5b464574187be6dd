"""The connection of this process to a Ray cluster."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import ray

from motet.domain.errors import MotetError, Unreachable
from motet.runtime.backends.ray.head_watch import HeadWatch, begun
from motet.runtime.backends.ray.listening import listens
from motet.runtime.backends.ray.ray_internals import drop_error_messages
from motet.runtime.backends.ray.token import require_private_token

T = TypeVar("T")

_INIT_TIMEOUT_S = 60.0
_RETRY_S = 1.0
_REMEDY = "jobs wait, and the server connects again when it answers"


@dataclass(frozen=True, slots=True)
class RayConnection:
    """Requests to Ray, which block, from an event loop."""

    head: HeadWatch

    async def call(self, request: Callable[[], T]) -> T:
        """What a request to Ray returns. Raises what it raises, or ClusterLost."""
        return await asyncio.to_thread(self.head.call, request)


async def connected(
    address: str, namespace: str, refused: Callable[[str], Awaitable[None]]
) -> RayConnection:
    """Join the cluster as soon as something listens at its address. Raises Unreachable.

    `refused`: awaited with the reason while nothing listens.
    """
    host, _, port = address.rpartition(":")
    while not await asyncio.to_thread(listens, host, int(port)):
        await refused(f"nothing listens at {address}")
        await asyncio.sleep(_RETRY_S)
    joining = asyncio.wrap_future(begun(lambda: _join(address, namespace)))
    try:
        return RayConnection(await asyncio.wait_for(joining, _INIT_TIMEOUT_S))
    except TimeoutError:
        raise Unreachable(f"Ray at {address} does not answer") from None


def _join(address: str, namespace: str) -> HeadWatch:
    require_private_token()
    drop_error_messages()
    try:
        ray.init(
            address=address,
            namespace=namespace,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        return HeadWatch.of_this_driver(_REMEDY)
    except MotetError:
        raise
    except Exception as error:  # Ray raises errors of many types here.
        first_line = str(error).strip().partition("\n")[0]
        raise Unreachable(f"Ray at {address} refuses: {first_line}") from error
