"""How many threads the linear algebra below NumPy and SciPy uses in processes of a training: one.

The order in which a matrix product adds up, and so its last bits, depends on the number of threads.
Executors and `motet train` set it by environment variables before NumPy is loaded. The process that
prepares data and evaluates models, often a user's own, may have loaded NumPy already and limits it
for a while.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


ONE_BLAS_THREAD: Mapping[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""Variables of processes that have not loaded NumPy."""


class _SharedLimit:
    """The limit is the whole process's, so it ends with the last of the threads inside it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits = ExitStack()

    def enter(self) -> None:
        from threadpoolctl import ThreadpoolController

        with self._lock:
            loaded = ThreadpoolController()
            _take_control(loaded)
            self._limits.enter_context(loaded.limit(limits=1, user_api="blas"))
            self._limits.callback(_take_control, loaded)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limits.close()


def _take_control(libraries: ThreadpoolController) -> None:
    """Let this thread set limits.

    Recent versions of threadpoolctl let only the first thread that did so set limits of OpenBLAS.
    """
    for library in libraries.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_SHARED_LIMIT = _SharedLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the libraries that this process has loaded until now; may be nested."""
    _SHARED_LIMIT.enter()
    try:
        yield
    finally:
        _SHARED_LIMIT.leave()
