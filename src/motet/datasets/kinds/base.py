"""The base class of data sets: source, notes and content hash."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput

D = TypeVar("D", bound="Dataset")
SplitRole = Literal["train", "test"]
RowSelection = slice | NDArray[np.intp] | NDArray[np.int64] | NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dataset(ABC):
    """A data set with its source and the notes of its reader.

    `source`: the path or name as the user gave it. `notes`: one sentence for each decision of the
    reader (duplicates dropped, labels found in the folder of the images, ...).
    """

    kind: ClassVar[str]
    described: ClassVar[str] = "data"
    """The kind in words, for error messages."""

    source: str = field(kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @abstractmethod
    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the arrays of the content, in a fixed order."""

    @abstractmethod
    def rows(self, selection: RowSelection) -> Self:
        """Return the chosen rows, ratings or documents, in the chosen order."""

    @abstractmethod
    def reindexed_like(self, train: Dataset) -> Dataset:
        """Return this data numbered like the training data, so that its model can be applied.

        Raises `BadInput` if the two are incompatible.
        """

    @abstractmethod
    def describe(self) -> str:
        """Describe the data in one line: its kind and its counts."""

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take in memory."""
        return sum(array.nbytes for array in self.arrays())

    @cached_property
    def sha256(self) -> str:
        """Hash of the content: dtype, shape and bytes of every array, without the source.

        Computed at the first access (about 2 GB/s), not before training.
        """
        digest = hashlib.sha256(self.kind.encode())
        for array in self.arrays():
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


def of_same_kind(test: D, train: Dataset) -> D:
    """Return the training data, typed like the test data. Raises `BadInput` for another kind."""
    if not isinstance(train, type(test)):
        raise BadInput(
            f"{test.source}: holds {test.described}, training data {train.source} "
            f"{train.described}; give both of the same kind"
        )
    return train
