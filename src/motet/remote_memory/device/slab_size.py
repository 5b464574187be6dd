"""The size of slabs that lenders have: it need not be repeated where it is used."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError
from motet.remote_memory.wire.memory_messages import FreeMem, MemoryMessageKind, QueryMem
from motet.transport import Connection, Endpoint

DEFAULT_SLAB_BYTES = 64 << 20
_ANSWER_WITHIN_S = 2.0


@dataclass(frozen=True)
class LenderAnswers:
    """`slab_bytes`: for a device of these lenders. `silent`: those that did not answer."""

    slab_bytes: int
    silent: Sequence[Endpoint]


def ask_lenders(
    lenders: Sequence[Endpoint], secret: bytes, slab_bytes: int | None
) -> LenderAnswers:
    """Ask all of them at the same time. `slab_bytes`: None: that of the lenders, the default if
    none answers. Raises BadInput: one has another secret, or slabs of another size."""
    if not lenders:
        return LenderAnswers(slab_bytes or DEFAULT_SLAB_BYTES, ())
    with ThreadPoolExecutor(len(lenders)) as pool:
        sizes = [*pool.map(lambda each: _slab_bytes_of(each, secret), lenders)]
    chosen = slab_bytes or next(filter(None, sizes), DEFAULT_SLAB_BYTES)
    for each, size in zip(lenders, sizes, strict=True):
        if size not in (None, chosen):
            raise BadInput(
                f"lender {each}: slabs of {size} bytes there, {chosen} here; a device and all of "
                "its lenders need the same --slab"
            )
    silent = [each for each, size in zip(lenders, sizes, strict=True) if size is None]
    return LenderAnswers(chosen, silent)


def _slab_bytes_of(lender: Endpoint, secret: bytes) -> int | None:
    """None: it does not answer. Raises BadInput: it has another secret."""
    try:
        with Connection(lender, secret, retry_for_s=0.0) as connection:
            reply = connection.request(
                MemoryMessageKind.QUERY_MEM, QueryMem(0).encode(), timeout_s=_ANSWER_WITHIN_S
            )
        return FreeMem.decode(reply.meta).slab_bytes
    except AuthenticationFailed as error:
        raise BadInput(
            f"lender {lender}: it has another secret; name the file with its secret, which "
            "'motet memory lend' prints (--secret-file; of a training --spill-secret)"
        ) from error
    except (TimeoutError, MotetError, OSError):
        return None
