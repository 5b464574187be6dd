"""Unix domain sockets at paths that may be longer than a socket address (107 bytes)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """An address of the same file for `bind` and `connect`, within the context. Raises OSError."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
