"""Names of array types, which document the contents of arrays in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Any element type."""
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
"""Positions in another array."""
Counts: TypeAlias = NDArray[np.int32]
"""Small integers: counts of words, numbers of topics."""
RowIndices: TypeAlias = NDArray[np.uint32]
"""Rows of a block in the wire format."""
Bytes: TypeAlias = NDArray[np.uint8]
Unsigned: TypeAlias = NDArray[np.uint64]
"""Addresses, sizes and fields of messages, in compiled code."""


_Element = TypeVar("_Element", bound=np.generic)


def read_only(column: NDArray[_Element]) -> NDArray[_Element]:
    """A read-only view of an array; one that is read-only itself.

    Numba compiles a kernel once for writable and once for read-only arrays: where a kernel that
    writes to none of them gets both, a view spares a compilation.
    """
    if not column.flags.writeable:
        return column
    view = column.view()
    view.setflags(write=False)  # Faster than the attribute of `flags`.
    return view
