"""The versions that this Python runs: of Motet, of itself and of Ray, without importing Ray."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Self

from motet import __version__


@dataclass(frozen=True, slots=True)
class InstalledVersions:
    """`ray`: empty: not installed."""

    motet: str
    python: str
    ray: str

    @classmethod
    def here(cls) -> Self:
        """Of this process."""
        try:
            ray = version("ray")
        except PackageNotFoundError:
            ray = ""
        return cls(__version__, ".".join(map(str, sys.version_info[:3])), ray)
