"""Memory that a client shares with the servers on its host."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Arena:
    """Arrays that servers on the same host can read and write directly."""

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """An array with arbitrary content."""
        return np.empty(shape, dtype)

    def close(self) -> None:
        """Let go of unused memory."""
