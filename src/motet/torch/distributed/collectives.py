"""Collective operations on arrays, by the means of gradients that Aggregators compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.aggregation.agent.gradient_service import GradientService
from motet.aggregation.wire.tensor_spec import OptimizerSpec
from motet.torch.distributed.pieces import ArrayPiece, PieceTensors
from motet.torch.patience import wait_for

_WORD_BYTES = 4


class Collectives:
    """One worker's part in the operations, which all workers call in the same order.

    Every operation is a step of the job on which the Aggregators run no optimizer. Bits travel
    as 32-bit words in float64, where means are exact to far less than one half.
    """

    def __init__(self, service: GradientService) -> None:
        self._service = service
        single = PieceTensors("float32", 0)
        double = PieceTensors("float64", len(single.specs))
        self._tensors = {each.dtype: each for each in (single, double)}
        self._padded: dict[tuple[int, str], NDArray[Any]] = {}
        self._service.initialise([*single.specs, *double.specs], OptimizerSpec("none"), [])

    def mean(self, values: NDArray[Any], *, is_sender: bool = True) -> None:
        """Overwrite a flat array of float32 or float64 with the mean over the workers.

        `is_sender`: False: this worker's part is zeros.
        """
        tensors = self._tensors[values.dtype.name]
        for wave in tensors.waves(values.size):
            if is_sender:
                for piece in wave:
                    self._service.push(piece.tensor, self._outgoing(piece, values))
            received = [self._memory(piece, values, "in") for piece in wave]
            pending = [
                self._service.mean(piece.tensor, into)
                for piece, into in zip(wave, received, strict=True)
            ]
            for each in pending:
                wait_for(each, "a collective operation")
            self._service.finish_step([{}], is_applied=False)
            for piece, found in zip(wave, received, strict=True):
                values[piece.start : piece.stop] = found[: piece.stop - piece.start]

    def gather(self, own: bytes) -> list[bytes]:
        """The bytes of all workers, by rank; all of the same length."""
        words = -(-len(own) // _WORD_BYTES)
        values = np.zeros((self._service.workers, words))
        values[self._service.rank] = _words(own, words)
        return [each[: len(own)] for each in self._exact(values)]

    def broadcast(self, size_bytes: int, source: int, own: Callable[[], bytes]) -> bytes:
        """The bytes of the worker `source`, the only one that calls `own`."""
        is_sender = self._service.rank == source
        words = -(-size_bytes // _WORD_BYTES)
        values = _words(own(), words) if is_sender else np.zeros(words)
        return self._exact(values[np.newaxis], is_sender=is_sender)[0][:size_bytes]

    def barrier(self) -> None:
        """Return when all workers have come here."""
        self.mean(np.zeros(1, np.float32))

    def close(self) -> None:
        """Leave the job."""
        self._service.close()

    def _exact(self, values: NDArray[Any], *, is_sender: bool = True) -> Sequence[bytes]:
        """Rows of words of which at most one worker has each, from all workers, as bytes."""
        flat = values.reshape(-1)
        self.mean(flat, is_sender=is_sender)
        words = np.rint(flat * self._service.workers).astype(np.uint32)
        return [row.tobytes() for row in words.reshape(values.shape)]

    def _outgoing(self, piece: ArrayPiece, values: NDArray[Any]) -> NDArray[Any]:
        """A copy: the Aggregators may ask for it until the next operation."""
        memory = self._memory(piece, values, "out")
        count = piece.stop - piece.start
        memory[:count] = values[piece.start : piece.stop]
        memory[count:] = 0
        return memory

    def _memory(self, piece: ArrayPiece, values: NDArray[Any], way: str) -> NDArray[Any]:
        key = (piece.tensor, way)
        if key not in self._padded:
            self._padded[key] = self._service.empty(piece.size, values.dtype)
            self._padded[key][:] = 0
        return self._padded[key]


def _words(data: bytes, words: int) -> NDArray[np.float64]:
    padded = data.ljust(words * _WORD_BYTES, b"\0")
    return np.frombuffer(padded, np.uint32).astype(np.float64)
