"""Numba's compiler, loaded without what no kernel here needs, and careful with what it keeps.

At its first compilation Numba imports `numba.np.arraymath`, which imports SciPy's linear algebra
only to know whether it is there: a tenth of a second of every process. A kernel that multiplies
matrices still loads it when it is compiled.

Numba keeps compiled code as long as the kernel's own module is the same. Code that contains a
function or a constant of another module would stay in force after a change of that one. So it is
kept by them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any, TypeVar, overload

import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

__all__ = ["njit"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_CONSTANTS = (bool, int, float, str, bytes, np.generic)


@overload
def njit(function: _Function) -> _Function: ...


@overload
def njit(function: None = None, **options: Any) -> Callable[[_Function], _Function]: ...


def njit(function: Any = None, **options: Any) -> Any:
    """As `numba.njit`, with or without options."""
    if function is not None:
        return _kept_by_contents(numba.njit(function))
    compiled = numba.njit(**options)
    return lambda plain: _kept_by_contents(compiled(plain))


def _kept_by_contents(kernel: Any) -> Any:
    cache = kernel._cache
    if isinstance(kept := getattr(cache, "_cache_file", None), IndexDataCacheFile):
        cache._cache_file = _KeptCode(kept, cache.cache_path, cache._impl.filename_base, kernel)
    return kernel


class _KeptCode(IndexDataCacheFile):
    """The kept code of a kernel. What the kernel uses is looked up at the first use: functions may
    be defined behind it."""

    def __init__(self, plain: Any, folder: str, name: str, kernel: Any) -> None:
        self._kernel = kernel
        super().__init__(folder, name, plain._source_stamp)  # type: ignore[no-untyped-call]

    @property
    def _source_stamp(self) -> tuple[Any, ...]:
        return (*self._of_module, *_uses(self._kernel.py_func, {self._kernel}))

    @_source_stamp.setter
    def _source_stamp(self, of_module: tuple[Any, ...]) -> None:
        self._of_module = of_module


def _uses(function: FunctionType, seen: set[Any]) -> Iterator[tuple[Any, ...]]:
    """Constants and kernels that a function names; of kernels the module, and what they name."""
    for name in function.__code__.co_names:
        value: Any = function.__globals__.get(name)
        if isinstance(value, _CONSTANTS):
            yield name, repr(value)
        elif isinstance(value, Dispatcher) and value not in seen:
            seen.add(value)
            yield name, _module_of(value)
            yield from _uses(value.py_func, seen)


def _module_of(kernel: Any) -> Any:
    """The date and size of its module, as Numba has them; None: its code is not kept."""
    file = getattr(kernel._cache, "_cache_file", None)
    return file._of_module if isinstance(file, _KeptCode) else getattr(file, "_source_stamp", None)


def _import_array_functions() -> None:
    linear_algebra: Any = import_module("numba.np.linalg")
    probe = linear_algebra.ensure_blas
    linear_algebra.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linear_algebra.ensure_blas = probe


_import_array_functions()
