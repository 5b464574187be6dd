"""The type of `--out DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class OutFolder(click.Path):
    """A folder that need not exist. An empty name (of an unset variable) is refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Fail for an empty name."""
        if value == "":
            self.fail("the folder has no name; '.' is the current one", param, ctx)
        return super().convert(value, param, ctx)
