"""Options that several commands of `motet memory` have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from motet.interfaces.cli.shell.option_types import ByteSizeType as ByteSizeType

if TYPE_CHECKING:
    from motet.remote_memory.device.memory_folder import MemoryFolder

_Command = TypeVar("_Command", bound=Callable[..., Any])


def state_dir_option(command: _Command) -> _Command:
    """Adds `--state-dir`, the parameter `folder`."""
    option = click.option(
        "--state-dir",
        "folder",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Addresses, secret and logs; a folder of this user alone. Default: one of this user.",
    )
    return option(command)


def slab_option(meaning: str) -> Callable[[_Command], _Command]:
    """Adds `--slab`, the parameter `slab_bytes`; `meaning`: of it, for its help."""
    return click.option(
        "--slab",
        "slab_bytes",
        type=ByteSizeType(),
        default="64M",
        show_default=True,
        metavar="SIZE",
        help=meaning,
    )


def secret_option(command: _Command) -> _Command:
    """Adds `--secret-file`."""
    option = click.option(
        "--secret-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The secret that lenders and devices share; copy it to the other machines. Default: "
        "'secret' in the state folder.",
    )
    return option(command)


def memory_folder(given: Path | None) -> MemoryFolder:
    """The folder, which exists then. Raises BadInput."""
    from motet.remote_memory.device.memory_folder import MemoryFolder, default_memory_folder

    folder = MemoryFolder((given or default_memory_folder()).absolute())
    folder.open()
    return folder
