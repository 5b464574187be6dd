"""Copies between lists of buffers. NumPy's copies release the interpreter lock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Bytes

_MANY = 4


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
        return
    if len(sources) == 1:
        scatter(np.frombuffer(sources[0], np.uint8), [target.data for target in targets])
        return
    joined = np.concatenate([np.frombuffer(source, np.uint8) for source in sources])
    scatter(joined, [target.data for target in targets])
