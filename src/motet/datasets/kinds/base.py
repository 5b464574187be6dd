"""What every data set has in common: a source, notes, a content hash."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput

D = TypeVar("D", bound="Dataset")
Selection = slice | NDArray[np.intp] | NDArray[np.int64] | NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dataset(ABC):
    """What every data set has: where it came from and what reading it did on the way.

    `source`: the path or name as the user gave it. `notes`: one sentence for each thing that a
    reader decided by itself (duplicates dropped, labels found beside the images, ...).
    """

    kind: ClassVar[str]
    described: ClassVar[str] = "data"
    """The kind in words, as error messages say it."""

    source: str = field(kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @abstractmethod
    def arrays(self) -> Iterator[NDArray[Any]]:
        """The arrays that are the content, in a fixed order."""

    @abstractmethod
    def rows(self, selection: Selection) -> Self:
        """The chosen rows, ratings or documents only, in the chosen order."""

    @abstractmethod
    def reindexed_like(self, train: Dataset) -> Dataset:
        """This data numbered like the training data, so that its model can be applied.

        Raises `BadInput` where the two do not go together.
        """

    @abstractmethod
    def describe(self) -> str:
        """One line for people: the kind and its counts."""

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take in memory."""
        return sum(array.nbytes for array in self.arrays())

    @cached_property
    def sha256(self) -> str:
        """Hash of the content: dtype, shape and bytes of every array; the source does not enter.

        Computed when first asked for (about 2 GB/s), so that training does not wait for it.
        """
        digest = hashlib.sha256(self.kind.encode())
        for array in self.arrays():
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


def of_same_kind(test: D, train: Dataset) -> D:
    """The training data, typed like the test data; raises `BadInput` when it is another kind."""
    if not isinstance(train, type(test)):
        raise BadInput(
            f"{test.source}: holds {test.described}, training data {train.source} "
            f"{train.described}; give both of the same kind"
        )
    return train
