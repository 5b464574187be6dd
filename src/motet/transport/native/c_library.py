"""Functions of the C library that compiled loops call.

Every process has their symbols, so Numba keeps loops that call them on disk like others.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import types

Word: TypeAlias = np.uint64
"""An address, a size or a field of a message. In compiled code an operation with an `int`, which is
signed, gives a floating-point number: constants in such operations are words, too."""
Count: TypeAlias = int | np.int64
"""A signed number, as of a position in an array."""

_ADDRESS, _NUMBER = types.uintp, types.int32


def _function(name: str, signature: Any) -> Any:
    return types.ExternalFunction(name, signature)


copy_memory = _function("memcpy", _ADDRESS(_ADDRESS, _ADDRESS, _ADDRESS))
"""To, from, bytes."""
lock_mutex = _function("pthread_mutex_lock", _NUMBER(_ADDRESS))
unlock_mutex = _function("pthread_mutex_unlock", _NUMBER(_ADDRESS))
