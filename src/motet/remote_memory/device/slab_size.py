"""The size of slabs that lenders have: it need not be repeated where it is used."""

from __future__ import annotations

from collections.abc import Sequence

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError
from motet.remote_memory.wire.memory_messages import FreeMem, MemoryMessageKind, QueryMem
from motet.transport import Connection, Endpoint

DEFAULT_SLAB_BYTES = 64 << 20
_ANSWER_WITHIN_S = 2.0


def lenders_slab_bytes(lenders: Sequence[Endpoint], secret: bytes) -> int:
    """Of the first that answers; the default if none does. Raises BadInput: another secret."""
    for each in lenders:
        try:
            with Connection(each, secret, retry_for_s=0.0) as connection:
                reply = connection.request(
                    MemoryMessageKind.QUERY_MEM,
                    QueryMem(0).encode(),
                    timeout_s=_ANSWER_WITHIN_S,
                )
            return FreeMem.decode(reply.meta).slab_bytes
        except AuthenticationFailed as error:
            raise BadInput(
                f"lender {each}: it has another secret; name the file with its secret, which "
                "'motet memory lend' prints (--spill-secret)"
            ) from error
        except (TimeoutError, MotetError, OSError):
            continue
    return DEFAULT_SLAB_BYTES
