"""NumPy and SciPy files: `.npz` with arrays or a sparse matrix, `.npy` with one array.

In an `.npz`, `X` holds the instances and `y` the target (also: `features`/`data`, `target`/
`labels`). A SciPy sparse matrix (`scipy.sparse.save_npz`) is a matrix, or the ratings of row
users for column items (stored zeros are ratings), or the word counts of row documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import CERTAIN, NAMED, Format, Guess, ReadOptions
from motet.datasets.formats.tables.columns import choose_columns
from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings
from motet.datasets.kinds.target import TargetColumn, target_of
from motet.domain.bounded_reading.array_files import load_arrays
from motet.domain.errors import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_FEATURES = ("X", "x", "features", "data", "x_train")
_TARGET_REMEDY = (
    "save it as y in an npz file, np.savez(file, X=features, y=target), or name a column of the "
    "features with --target INDEX (-1: the last)"
)
_SPARSE_TARGET_REMEDY = (
    "a SciPy matrix has none; write both as svmlight, for example with scikit-learn's "
    "dump_svmlight_file(X, y, file, zero_based=False)"
)
_TARGETS = ("y", "Y", "target", "labels", "y_train")


class NpzFormat(Format):
    """An archive of NumPy arrays, or a sparse matrix of SciPy."""

    name = "npz"
    summary = "NumPy arrays X and y, or a SciPy sparse matrix"
    kinds = (LabelledMatrix, Ratings, Corpus)
    has_columns = True
    holds_target = True

    def sniff(self, head: Head) -> Guess:
        """A zip archive, or the suffix `.npz`."""
        if head.start.startswith(b"PK\x03\x04"):
            return Guess(CERTAIN, "is a zip archive")
        return Guess(NAMED * head.name.endswith(".npz"), "is not a zip archive")

    def read(self, file: InputFile, options: ReadOptions) -> Dataset:
        """The content of the archive as the kind of data in the options."""
        arrays = _load(file)
        if isinstance(arrays, np.ndarray):
            raise file.complaint("is one array, not an archive", "give --format npy")
        if "format" in arrays:
            _check_rows(file, arrays)
            return _from_sparse(file, options)
        features = _pick(arrays, _FEATURES)
        if features is None and len(arrays) == 1:
            features = next(iter(arrays))
        if features is None:
            problem = f"holds {', '.join(arrays) or 'nothing'}, no X"
            raise file.complaint(problem, "save it with np.savez(file, X=features, y=target)")
        target = _pick(arrays, _TARGETS)
        labels = None if target is None else _target(file, target, arrays[target])
        return _labelled(file, options, _numbers(file, features, arrays[features], 2), labels)


class NpyFormat(Format):
    """One NumPy array."""

    name = "npy"
    summary = "one NumPy array (--target takes a column)"
    kinds = (LabelledMatrix,)
    has_columns = True

    def sniff(self, head: Head) -> Guess:
        """NumPy's magic string, or the suffix `.npy`."""
        if head.start.startswith(b"\x93NUMPY"):
            return Guess(CERTAIN, "starts with NumPy's magic string")
        return Guess(NAMED * head.name.endswith(".npy"), "lacks NumPy's magic string")

    def read(self, file: InputFile, options: ReadOptions) -> LabelledMatrix:
        """A two-dimensional array of numbers; `--target` takes one of its columns."""
        array = _load(file)
        if not isinstance(array, np.ndarray):
            raise file.complaint("is an archive of arrays", "give --format npz")
        return _labelled(file, options, _numbers(file, "the array", array, 2), None)


def _load(file: InputFile) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """Load one array, or all arrays of an archive."""
    with file.opened() as stream:
        try:
            return load_arrays(stream, file.limit)
        except BadInput:
            raise
        # NumPy's readers raise errors of many types for damaged files.
        except Exception as error:
            raise _unreadable(file, error) from None


def _unreadable(file: InputFile, error: Exception) -> BadInput:
    if "pickle" in str(error):
        return file.complaint("holds Python objects or no array", "save arrays of numbers")
    problem = f"is not a complete NumPy file ({type(error).__name__})"
    return file.complaint(problem, "it is damaged: write it again")


def _pick(arrays: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in arrays), None)


def _numbers(
    file: InputFile, name: str, array: NDArray[Any], dimensions: int
) -> NDArray[np.float64]:
    """Return the array as float64 after checking for finite numbers and its dimensions."""
    if array.dtype.kind not in "biuf":
        raise file.complaint(f"{name} holds {array.dtype}, not numbers", "save numbers")
    _check_shape(file, name, array, dimensions)
    values = np.ascontiguousarray(array, dtype=np.float64)
    _require_finite(file, name, values)
    return values


def _target(file: InputFile, name: str, array: NDArray[Any]) -> TargetColumn:
    """The target after checking; words and booleans are classes."""
    if array.dtype.kind not in "biufUS":
        remedy = "save numbers, booleans or words"
        raise file.complaint(f"{name} holds {array.dtype}, not numbers or words", remedy)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    _check_shape(file, name, array, 1)
    if array.dtype.kind == "f":
        _require_finite(file, name, array)
    return target_of(array, f"{file}: {name}")


def _check_shape(file: InputFile, name: str, array: NDArray[Any], dimensions: int) -> None:
    if array.ndim != dimensions:
        wanted = "(rows, columns)" if dimensions == 2 else "(rows,)"
        raise file.complaint(f"{name} has shape {array.shape}", f"its shape must be {wanted}")
    if not array.size:
        raise file.complaint(f"{name} is empty, shape {array.shape}", "give a file with data")


def _require_finite(file: InputFile, name: str, values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(values))[0])
        problem = f"{name}{list(place)} is {values[place]}"
        raise file.complaint(problem, "all numbers must be finite")


def _labelled(
    file: InputFile,
    options: ReadOptions,
    features: NDArray[np.float64],
    target: TargetColumn | None,
) -> LabelledMatrix:
    if target is not None and len(target.values) != len(features):
        problem = f"{len(features):,} rows of features, {len(target.values):,} targets"
        raise file.complaint(problem, "save one target for each row")
    if options.target is not None or options.drop:
        width = features.shape[1]
        columns = choose_columns(file, None, width, options.target, options.drop)
        if columns.target is not None:
            target = TargetColumn(features[:, columns.target].copy())
        features = np.ascontiguousarray(features[:, columns.features])
    if target is None:
        return LabelledMatrix(features, target_remedy=_TARGET_REMEDY, source=str(file))
    return LabelledMatrix(features, target.values, None, target.classes, source=str(file))


def _check_rows(file: InputFile, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadInput for a shape whose row pointers alone exceed the limit."""
    shape = arrays.get("shape")
    if shape is not None and shape.dtype.kind in "iu":
        file.limit.check(int(shape.max(initial=0)) * np.dtype(np.int64).itemsize)


def _from_sparse(file: InputFile, options: ReadOptions) -> Dataset:
    from scipy.sparse import csr_matrix, load_npz

    with file.opened() as stream:
        try:
            matrix = csr_matrix(load_npz(stream), dtype=np.float64)
            matrix.check_format(full_check=True)
        except Exception as error:
            raise _unreadable(file, error) from None
    if not matrix.shape[0] or not matrix.shape[1]:
        raise file.complaint(f"is empty, shape {matrix.shape}", "give a file with data")
    matrix.sum_duplicates()
    matrix.sort_indices()
    _require_finite(file, "data", matrix.data)
    if options.kind is Ratings:
        return _ratings(file, matrix)
    return _corpus(file, matrix) if options.kind is Corpus else _matrix(file, matrix)


def _matrix(file: InputFile, matrix: csr_matrix[np.float64]) -> LabelledMatrix:
    return LabelledMatrix(matrix, target_remedy=_SPARSE_TARGET_REMEDY, source=str(file))


def _ratings(file: InputFile, matrix: csr_matrix[np.float64]) -> Ratings:
    users = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    items = matrix.indices.astype(np.int64)
    return Ratings.from_ids(users, items, matrix.data, source=str(file))


def _corpus(file: InputFile, matrix: csr_matrix[np.float64]) -> Corpus:
    wrong = (matrix.data < 0) | (matrix.data != np.floor(matrix.data))
    if wrong.any():
        raise _count_complaint(file, matrix, int(np.argmax(wrong)))
    return Corpus.from_pairs(
        np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)),
        matrix.indices.astype(np.int64),
        matrix.data.astype(np.int64),
        (int(matrix.shape[0]), int(matrix.shape[1])),
        source=str(file),
    )


def _count_complaint(file: InputFile, matrix: csr_matrix[np.float64], at: int) -> BadInput:
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    problem = f"row {row}, column {matrix.indices[at]} holds {matrix.data[at]:g}"
    return file.complaint(problem, "counts must be whole numbers from 0")
