"""A process group of torch.distributed whose operations run on Aggregators."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import torch
from torch import distributed

from motet.aggregation.agent.gradient_service import GradientService
from motet.domain.errors import MotetError
from motet.torch.array_views import array_of
from motet.torch.distributed.collectives import Collectives
from motet.torch.distributed.stream_order import StreamOrder, on_host, overwrite

_SUMS = (distributed.ReduceOp.SUM, distributed.ReduceOp.AVG)
_REDUCTIONS: Sequence[tuple[Any, Callable[[torch.Tensor], torch.Tensor]]] = (
    (distributed.ReduceOp.SUM, lambda all_: all_.sum(0)),
    (distributed.ReduceOp.AVG, lambda all_: all_.mean(0)),
    (distributed.ReduceOp.MAX, lambda all_: all_.amax(0)),
    (distributed.ReduceOp.MIN, lambda all_: all_.amin(0)),
    (distributed.ReduceOp.PRODUCT, lambda all_: all_.prod(0)),
)
_IN_FLOAT32 = (torch.float32, torch.bfloat16, torch.float16)


def name_of_group(store: Any, rank: int) -> str:
    """A name that the processes of the group share, and no other group has."""
    if rank == 0:
        store.set("motet", uuid.uuid4().hex)
    return str(store.get("motet").decode())


class _Work(distributed.Work):
    """PyTorch's handle of an operation in flight; raises what went wrong."""

    def __init__(self, future: Any) -> None:
        super().__init__()
        self._future = future

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for its end."""
        del timeout
        self._future.wait()
        return True

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return bool(self._future.done())

    def get_future(self) -> Any:
        """What DistributedDataParallel waits for."""
        return self._future


class MotetProcessGroup(distributed.ProcessGroup):
    """Operations one after another in a thread of its own; tensors of CUDA devices travel through
    pinned memory of the host."""

    def __init__(
        self, service: GradientService, rank: int, workers: int, timeout: timedelta
    ) -> None:
        super().__init__(rank, workers)
        self._rank, self._workers = rank, workers
        self._name = ""
        self._thread = ThreadPoolExecutor(1, "motet-process-group")
        self._collectives = self._thread.submit(Collectives, service).result(
            timeout.total_seconds()
        )

    def getBackendName(self) -> str:  # noqa: N802 - PyTorch calls it.
        """Name of the backend."""
        return "motet"

    @property
    def group_name(self) -> str:
        """The name that torch.distributed gives to the group."""
        return self._name

    def _set_group_name(self, name: str) -> None:
        self._name = name

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """Sum, mean, maximum, minimum or product."""
        operation = _operation(opts)
        return self._later(tensors, tensors, lambda: self._reduce(tensors, operation))

    def allreduce_coalesced(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """The same of several tensors."""
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """The result also comes to the other processes, which drop it."""
        operation = _operation(opts)
        is_root = opts.rootRank == self._rank
        into = tensors if is_root else [tensor.clone() for tensor in tensors]
        return self._later(tensors, into, lambda: self._reduce(into, operation))

    def broadcast(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """From one process to all."""
        source = opts.rootRank if opts is not None else 0
        return self._later(tensors, tensors, lambda: self._broadcast(tensors, source))

    def allgather(
        self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None
    ) -> Any:
        """The tensors of all processes, to all."""
        del opts
        tensors = [*chain(*outputs), *inputs]
        return self._later(outputs, tensors, lambda: self._gather(outputs, inputs))

    def gather(
        self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None
    ) -> Any:
        """The tensors of all processes, to one; the others drop them."""
        is_root = opts.rootRank == self._rank
        into = outputs
        if not is_root:
            into = [[torch.empty_like(each) for _ in range(self._workers)] for each in inputs]
        tensors = [*chain(*into), *inputs]
        return self._later(outputs, tensors, lambda: self._gather(into, inputs))

    def all_gather_single(self, output: torch.Tensor, own: torch.Tensor, opts: Any = None) -> Any:
        """The tensors of all processes one after another in one tensor."""
        return self.allgather([[*output.chunk(self._workers)]], [own], opts)

    def reduce_scatter(
        self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None
    ) -> Any:
        """Each process gets its part of the sums."""
        operation = _operation(opts)
        tensors = [*outputs, *chain(*inputs)]
        return self._later(
            outputs, tensors, lambda: self._reduce_scatter(outputs, inputs, operation)
        )

    def reduce_scatter_single(
        self, output: torch.Tensor, own: torch.Tensor, opts: Any = None
    ) -> Any:
        """The same with all parts in one tensor."""
        return self.reduce_scatter([output], [[*own.chunk(self._workers)]], opts)

    def barrier(self, opts: Any = None) -> Any:
        """Wait until all processes have come here."""
        del opts
        return self._later([], [], self._collectives.barrier)

    # PyTorch's names before 2.13.
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single

    def alltoall(self, *_: Any) -> NoReturn:
        """Not supported."""
        _refuse("all_to_all")

    def alltoall_base(self, *_: Any) -> NoReturn:
        """Not supported."""
        _refuse("all_to_all_single")

    def scatter(self, *_: Any) -> NoReturn:
        """Not supported."""
        _refuse("scatter")

    def send(self, *_: Any) -> NoReturn:
        """Not supported."""
        _refuse("send")

    def recv(self, *_: Any) -> NoReturn:
        """Not supported."""
        _refuse("recv")

    def recv_anysource(self, *_: Any) -> NoReturn:
        """Not supported."""
        _refuse("recv")

    def shutdown(self) -> None:
        """Leave, after what was called before."""
        self._thread.submit(self._collectives.close).result()
        self._thread.shutdown()

    def _later(self, result: Any, tensors: Sequence[torch.Tensor], run: Callable[[], None]) -> Any:
        """Run in the thread, after what was called before. `tensors`: that it uses."""
        order = StreamOrder(tensors)

        def complete() -> None:
            try:
                with order.streams(), torch.no_grad():
                    run()
                    order.future.set_result(result)
            except BaseException as error:
                order.future.set_exception(error)

        self._thread.submit(complete)
        return _Work(order.future)

    def _reduce(self, tensors: Sequence[torch.Tensor], operation: Any) -> None:
        for tensor in tensors:
            overwrite(tensor, self._reduced(tensor, operation))

    def _reduced(self, tensor: torch.Tensor, operation: Any) -> torch.Tensor:
        """On the host."""
        is_known = tensor.dtype in _IN_FLOAT32 or tensor.dtype == torch.float64
        if operation in _SUMS and is_known:
            dtype = torch.float64 if tensor.dtype == torch.float64 else torch.float32
            result = on_host(tensor, dtype)
            self._collectives.mean(array_of(result).reshape(-1))
            return result if operation == distributed.ReduceOp.AVG else result.mul_(self._workers)
        for known, reduction in _REDUCTIONS:
            if operation == known:
                return reduction(torch.stack(self._gathered(tensor))).to(tensor.dtype)
        raise MotetError(
            f"the backend motet has no all_reduce with {operation}; it has SUM, AVG, MAX, MIN and "
            "PRODUCT: use gloo for this process group"
        )

    def _reduce_scatter(
        self,
        outputs: Sequence[torch.Tensor],
        inputs: Sequence[Sequence[torch.Tensor]],
        operation: Any,
    ) -> None:
        for output, parts in zip(outputs, inputs, strict=True):
            result = self._reduced(torch.stack([*parts]), operation)
            overwrite(output, result[self._rank].view_as(output))

    def _broadcast(self, tensors: Sequence[torch.Tensor], source: int) -> None:
        for tensor in tensors:
            own = partial(_bytes_of, tensor)
            data = self._collectives.broadcast(tensor.nbytes, source, own)
            if source != self._rank:
                overwrite(tensor, _tensor_of_bytes(data, tensor))

    def _gather(
        self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor]
    ) -> None:
        for into, tensor in zip(outputs, inputs, strict=True):
            for output, found in zip(into, self._gathered(tensor), strict=True):
                overwrite(output, found.view_as(output))

    def _gathered(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        found = self._collectives.gather(_bytes_of(tensor))
        return [_tensor_of_bytes(data, tensor) for data in found]


def _operation(options: Any) -> Any:
    return options.reduceOp.op if options is not None else distributed.ReduceOp.SUM


def _bytes_of(tensor: torch.Tensor) -> bytes:
    host = on_host(tensor, tensor.dtype) if tensor.is_cuda else tensor.detach().contiguous()
    flat = host.reshape(-1)
    return bytes(flat.view(torch.uint8).numpy().tobytes())


def _tensor_of_bytes(data: bytes, like: torch.Tensor) -> torch.Tensor:
    flat = torch.from_numpy(np.frombuffer(data, np.uint8).copy())
    return flat.view(like.dtype).reshape(like.shape)


def _refuse(name: str) -> NoReturn:
    raise MotetError(
        f"the backend motet has no {name}; Aggregators add tensors of all processes. Use gloo for "
        "a process group that needs it: torch.distributed.new_group(backend='gloo')"
    )
