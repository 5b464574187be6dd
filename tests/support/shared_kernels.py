"""Processes of a test run compile each kernel once: the others wait for it and load it.

A kernel gets the machine code that it always gets, without what takes an eighth of the time and
nothing here uses.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_UN, lockf
from pathlib import Path
from typing import Any

from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.lowering import Lower

_LOCKS = Path(__file__).with_name("__pycache__") / "kernels.lock"


def compile_kernels_once() -> None:
    """Let one process at a time look for a kernel in Numba's cache and compile it.

    Kernels call each other without cycles, so no process waits for one that waits for it.
    """
    _LOCKS.parent.mkdir(exist_ok=True)
    locks = _LOCKS.open("ab")
    compile_alone = Dispatcher.compile

    def compile_or_load(self: Dispatcher, sig: Any) -> Any:
        # Locks belong to a process: its threads must take turns before.
        with global_compiler_lock, _locked(locks.fileno(), self), _no_collections():
            return compile_alone(self, sig)

    Dispatcher.compile = compile_or_load
    Lower.create_cfunc_wrapper = lambda self: None  # Nothing calls a kernel by the C convention.
    CPUCodeLibrary._optimize_functions = _optimize_definitions


def _optimize_definitions(self: CPUCodeLibrary, module: Any) -> None:
    """As Numba does, but for functions of other modules, which are declarations here: there is
    nothing to optimise, and each of them takes a new pass manager."""
    module.data_layout = self._codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = self._codegen._function_pass_manager()
            passes.run(function, builder)


@contextmanager
def _locked(locks: int, kernel: Dispatcher) -> Iterator[None]:
    """One byte of the file of locks stands for a kernel."""
    if (cache := getattr(kernel._cache, "_cache_file", None)) is None:
        yield
        return
    place = zlib.crc32(cache._index_path.encode())
    lockf(locks, LOCK_EX, 1, place)
    try:
        yield
    finally:
        lockf(locks, LOCK_UN, 1, place)


@contextmanager
def _no_collections() -> Iterator[None]:
    """The compiler makes many objects that live: collections take a sixteenth of its time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
