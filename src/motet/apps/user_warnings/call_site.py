"""The line of a program that called Motet, which warnings name."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

_OWN = {__name__.partition(".")[0], "contextlib"}
"""Context managers that decorate functions of Motet put a frame of `contextlib` above theirs."""


@dataclass(frozen=True)
class CallSite:
    """A line outside of this package. `registry`: of the warnings that its module has given."""

    file: str
    line: int
    module: str
    registry: dict[Any, Any]

    @classmethod
    def of_caller(cls) -> CallSite:
        """The innermost line of this thread's stack that is not of Motet."""
        frame = sys._getframe()
        while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
            frame = frame.f_back
        variables = frame.f_globals
        registry = variables.setdefault("__warningregistry__", {})
        name = str(variables.get("__name__", "<unknown>"))
        return cls(frame.f_code.co_filename, frame.f_lineno, name, registry)

    def warn(self, message: str, category: type[Warning]) -> None:
        """Give a warning as if that line had given it, from any thread."""
        warnings.warn_explicit(message, category, self.file, self.line, self.module, self.registry)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _OWN
