"""Copies between lists of buffers. NumPy's copies release the interpreter lock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Bytes

_MANY = 4
_JOINED_BYTES = 1 << 20


def gather(sources: Sequence[memoryview], target: Bytes) -> None:
    """Copy the sources one after the other into the target."""
    if len(sources) > _MANY:
        arrays = [np.frombuffer(source, np.uint8) for source in sources]
        np.concatenate(arrays, out=target[: sum(map(len, sources))])
        return
    offset = 0
    for source in sources:
        end = offset + len(source)
        np.copyto(target[offset:end], np.frombuffer(source, np.uint8))
        offset = end


def scatter(source: Bytes, targets: Sequence[memoryview]) -> None:
    """Copy the source to the targets, in order: the inverse of `gather`."""
    offset = 0
    for target in targets:
        end = offset + len(target)
        if end > offset:  # An empty view may be read-only.
            np.copyto(np.frombuffer(target, np.uint8), source[offset:end])
        offset = end


def transfer(sources: Sequence[memoryview], targets: Sequence[Bytes]) -> None:
    """Copy the sources to the targets, which add up to the same number of bytes."""
    if len(targets) == 1:
        gather(sources, targets[0])
    elif len(sources) == 1:
        scatter(np.frombuffer(sources[0], np.uint8), [target.data for target in targets])
    elif sum(map(len, targets)) <= _JOINED_BYTES:  # A copy more takes less time than more calls.
        joined = np.concatenate([np.frombuffer(source, np.uint8) for source in sources])
        scatter(joined, [target.data for target in targets])
    else:
        _copy_pieces(sources, targets)


def _copy_pieces(sources: Sequence[memoryview], targets: Sequence[Bytes]) -> None:
    """Piece by piece, where either a source or a target ends."""
    pieces = iter(sources)
    source = np.empty(0, np.uint8)
    for target in targets:
        done = 0
        while done < len(target):
            while not len(source):
                source = np.frombuffer(next(pieces), np.uint8)
            size = min(len(source), len(target) - done)
            np.copyto(target[done : done + size], source[:size])
            source, done = source[size:], done + size
