"""Numba's compiler, loaded without what no kernel here needs.

At its first compilation Numba imports `numba.np.arraymath`, which imports SciPy's linear algebra
only to know whether it is there: a tenth of a second of every process. A kernel that multiplies
matrices still loads it when it is compiled.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numba import njit

__all__ = ["njit"]


def _import_array_functions() -> None:
    linear_algebra: Any = import_module("numba.np.linalg")
    probe = linear_algebra.ensure_blas
    linear_algebra.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linear_algebra.ensure_blas = probe


_import_array_functions()
