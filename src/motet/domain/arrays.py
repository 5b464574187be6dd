"""Names of array types, so that a signature says what an array holds."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Of any type."""
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
"""Positions in another array."""
Counts: TypeAlias = NDArray[np.int32]
"""Small whole numbers: counts of words, numbers of topics."""
RowIndices: TypeAlias = NDArray[np.uint32]
"""Rows of a block as they stand on the wire."""
Bytes: TypeAlias = NDArray[np.uint8]
