"""Whether a stream is a terminal that can be redrawn."""

from __future__ import annotations

import os
from typing import TextIO


def is_live_terminal(stream: TextIO) -> bool:
    """Whether lines on this stream may be redrawn."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
