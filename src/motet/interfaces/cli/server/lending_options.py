"""Options of `motet server` for the memory that the cluster's machines lend."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from motet.interfaces.cli.shell.option_types import ByteSizeType

_ALL_IDLE = "all"
_SLAB = "64M"


class MostType(ByteSizeType):
    """Bytes, or `all` that is idle."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Bytes, or the text `all`."""
        return value if value == _ALL_IDLE else super().convert(value, param, ctx)


def lending_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them; the command gets the parameter `lending`, None: the cluster lends no memory."""

    @wraps(command)
    def wrapped(
        *args: Any,
        most: int | str | None,
        lend_slab: int | None,
        lend_head_room: int | None,
        lend_quota: int | None,
        **others: Any,
    ) -> Any:
        sizes = {
            "--lend-slab": lend_slab,
            "--lend-head-room": lend_head_room,
            "--lend-quota": lend_quota,
        }
        lending = _lending(most, sizes)
        return command(*args, lending=lending, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _lending(most: int | str | None, sizes: dict[str, int | None]) -> Any:
    """Raises BadInput."""
    from motet.domain.errors import BadInput
    from motet.live.lent_memory.cluster_lenders import LendingOptions
    from motet.remote_memory.core.byte_sizes import size_of
    from motet.remote_memory.core.device_geometry import check_whole_pages

    if most is None:
        if given := next((name for name, size in sizes.items() if size is not None), None):
            raise BadInput(f"{given}: of the memory that is lent; give --lend-memory, too")
        return None
    slab = sizes["--lend-slab"] or size_of(_SLAB)
    check_whole_pages("--lend-slab", slab)
    limit = None if most == _ALL_IDLE else int(most)
    for name, size in (("--lend-memory", limit), ("--lend-quota", sizes["--lend-quota"])):
        if size is not None and size < slab:
            raise BadInput(f"{name} {size}: at least one slab of {slab} bytes (--lend-slab)")
    return LendingOptions(slab, limit, sizes["--lend-head-room"], sizes["--lend-quota"])


_OPTIONS = (
    click.option(
        "--lend-memory",
        "most",
        type=MostType(),
        is_flag=False,
        flag_value=_ALL_IDLE,
        metavar="[MOST]",
        help="Lend idle memory of the machines to jobs that need more than theirs "
        "(docs/memory.md), of each machine at most MOST; what jobs request is never lent. "
        "Default: none; without MOST all that is idle.",
    ),
    click.option(
        "--lend-slab",
        type=ByteSizeType(),
        metavar="SIZE",
        help=f"Unit of lending. Default: {_SLAB}.",
    ),
    click.option(
        "--lend-head-room",
        type=ByteSizeType(),
        metavar="SIZE",
        help="Memory that stays free on each machine. Default: an eighth of it.",
    ),
    click.option(
        "--lend-quota",
        type=ByteSizeType(),
        metavar="SIZE",
        help="Most memory that a job borrows from each machine. Default: no limit.",
    ),
)
