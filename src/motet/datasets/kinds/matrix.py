"""Instances as rows of numbers, with or without a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds.base import Dataset, RowSelection, of_same_kind
from motet.datasets.kinds.target import Classes, holds_words
from motet.domain.errors import BadArgument, BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    Features = NDArray[np.float64] | csr_matrix[np.float64]


@dataclass(frozen=True, eq=False)
class LabelledMatrix(Dataset):
    """Instances as rows of numbers, with one target value each if the source had a target.

    `features`: (rows, columns) float64, a dense array or a SciPy CSR matrix with sorted columns.
    `target`: (rows,) float64, with `classes` as in `TargetColumn`: the word, boolean or large whole
    number that target value k stands for. `target_remedy`, `other_target`: how to give a target,
    or another one, for error messages. `target_source`: what the target came from; "": `source`.
    `kept`: which rows of the source these are; None: all, or unknown.
    """

    kind: ClassVar[str] = "matrix"
    described: ClassVar[str] = "a matrix of numbers"

    features: Features
    target: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    classes: Classes | None = None
    target_remedy: str = "name its column with --target NAME_OR_INDEX (-1: the last)"
    other_target: str = "name another column with --target"
    target_source: str = ""
    kept: NDArray[np.bool_] | None = None

    @property
    def source_of_target(self) -> str:
        """The file or argument that errors of the target name."""
        return self.target_source or self.source

    @property
    def row_count(self) -> int:
        """Number of instances."""
        return int(self.features.shape[0])

    @property
    def feature_count(self) -> int:
        """Number of columns."""
        return int(self.features.shape[1])

    @property
    def has_column_names(self) -> bool:
        """Whether the columns have names; without a header they are called by their numbers."""
        names = self.feature_names
        return names is not None and not all(name.isdigit() for name in names)

    @property
    def is_sparse(self) -> bool:
        """Whether `features` is a CSR matrix."""
        return not isinstance(self.features, np.ndarray)

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the features (for CSR: data, indices, indptr), then the target."""
        if isinstance(self.features, np.ndarray):
            yield self.features
        else:
            yield from (self.features.data, self.features.indices, self.features.indptr)
            yield np.array(self.features.shape, dtype=np.int64)
        if self.target is not None:
            yield self.target

    def describe(self) -> str:
        """Describe it: "32,560 rows x 122 features, sparse (451,578 values), with a target"."""
        storage = "dense" if isinstance(self.features, np.ndarray) else _stored(self.features)
        ending = "without a target" if self.target is None else "with a target"
        return f"{self.row_count:,} rows x {self.feature_count:,} features, {storage}, {ending}"

    def require_target(self) -> NDArray[np.float64]:
        """Return the target, (rows,) float64. Raises `BadInput` if the source had none."""
        if self.target is None:
            raise lack_of_target(self.source, self.target_remedy)
        return self.target

    def target_numbers(self) -> NDArray[np.float64]:
        """Return the target as numbers: of classes their values, of words their positions.

        Raises `BadInput` if the source had none.
        """
        target = self.require_target()
        if self.classes is None or holds_words(self.classes):
            return target
        return np.array(self.classes, dtype=np.float64)[target.astype(np.intp)]

    def rows(self, selection: RowSelection) -> Self:
        """Return the chosen rows, in the chosen order."""
        target = None if self.target is None else self.target[selection]
        return replace(self, features=self.features[selection], target=target, kept=None)

    def with_columns(self, names: Sequence[str]) -> LabelledMatrix:
        """Return the columns of these names in this order. Raises `BadInput` if one is missing."""
        return _columns_by_name(self, tuple(names), self.feature_names or ())

    def reindexed_like(self, train: Dataset) -> LabelledMatrix:
        """Return this data with the columns and classes of `train`, for applying its model.

        Sparse data may have fewer columns (empty ones are added) or more (columns that are not in
        the training data are left out and counted in a note: the model has no weights for them).
        Dense data must have the same columns. Named columns are put into the order of `train`.
        Raises `BadInput` if the two are incompatible.
        """
        like = of_same_kind(self, train)
        return _same_classes(_same_columns(self, like), like)


def lack_of_target(source: str, remedy: str) -> BadInput:
    """Return the error for data without a target. `remedy`: how to give one."""
    return BadArgument(f"{source}: this application needs a target, found none; {remedy}")


def lack_of_columns(source: str, missing: Sequence[str], count: int) -> BadInput:
    """Return the error for data without some of the `count` columns of the training data."""
    return BadArgument(
        f"{source}: no column {missing[0]!r}, which the training data has "
        f"({len(missing)} of {count} are missing); give both files the same columns"
    )


def _stored(features: csr_matrix[np.float64]) -> str:
    return f"sparse ({features.nnz:,} values)"


def _same_columns(test: LabelledMatrix, train: LabelledMatrix) -> LabelledMatrix:
    wanted, found = train.feature_names, test.feature_names
    if wanted and found and wanted != found:
        return _columns_by_name(test, wanted, found)
    if test.feature_count == train.feature_count:
        return test
    if isinstance(test.features, np.ndarray):
        raise BadArgument(
            f"{test.source}: {test.feature_count} feature columns, but training data "
            f"{train.source} has {train.feature_count}; give both files the same columns"
        )
    return _resized(test, test.features, train.feature_count)


def _columns_by_name(
    test: LabelledMatrix, wanted: tuple[str, ...], found: tuple[str, ...]
) -> LabelledMatrix:
    position = {name: index for index, name in enumerate(found)}
    missing = [name for name in wanted if name not in position]
    if missing:
        raise lack_of_columns(test.source, missing, len(wanted))
    order = np.array([position[name] for name in wanted], dtype=np.intp)
    return replace(test, features=test.features[:, order], feature_names=wanted)


def _resized(
    test: LabelledMatrix, features: csr_matrix[np.float64], column_count: int
) -> LabelledMatrix:
    unseen = int(np.count_nonzero(features.indices >= column_count))
    note = f"{unseen:,} values are left out: the training data has only {column_count} columns"
    return replace(
        test,
        features=_with_columns(features, column_count),
        notes=(*test.notes, note) if unseen else test.notes,
    )


def _with_columns(features: csr_matrix[np.float64], column_count: int) -> csr_matrix[np.float64]:
    from scipy.sparse import csr_matrix

    kept = features[:, : min(column_count, features.shape[1])]
    arrays = (kept.data, kept.indices, kept.indptr)
    return csr_matrix(arrays, shape=(features.shape[0], column_count))


def _same_classes(test: LabelledMatrix, train: LabelledMatrix) -> LabelledMatrix:
    if test.target is None or test.classes == train.classes:
        return test
    if holds_words(test.classes) != holds_words(train.classes):
        raise BadArgument(
            f"{test.source}: the target holds {_held(test)}, in training data {train.source} "
            f"{_held(train)}; write both the same way"
        )
    if test.classes is None or train.classes is None:
        return test
    unknown = [name for name in test.classes if name not in train.classes]
    if unknown:
        raise BadArgument(
            f"{test.source}: class {unknown[0]!r} does not occur in training data "
            f"{train.source} (it has {', '.join(map(str, train.classes[:8]))}); remove those rows"
        )
    new_code = np.array([train.classes.index(name) for name in test.classes], float)
    target = new_code[test.target.astype(np.intp)]
    return replace(test, target=target, classes=train.classes)


def _held(dataset: LabelledMatrix) -> str:
    return "words" if holds_words(dataset.classes) else "numbers"
