"""Ids of jobs as arguments, which a shell completes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from motet.domain.errors import MotetError
from motet.live.jobs.job_state import JobState

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_MOST, _MOST_READ = 200, 2000
_OPEN = tuple(state.value for state in JobState if not state.is_final)


def job_argument(
    name: str = "job", *, is_many: bool = False, is_optional: bool = False, all_states: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The argument JOB, or JOB... `all_states`: whether a shell offers jobs that have ended."""
    metavar = "[JOB]..." if is_optional else "JOB..." if is_many else "JOB"
    return click.argument(
        name,
        metavar=metavar,
        nargs=-1 if is_many else 1,
        required=not is_optional,
        shell_complete=_complete_any if all_states else _complete_open,
    )


def _complete_any(ctx: click.Context, param: click.Parameter, begin: str) -> list[CompletionItem]:
    return _offered(ctx, param, begin, ())


def _complete_open(ctx: click.Context, param: click.Parameter, begin: str) -> list[CompletionItem]:
    return _offered(ctx, param, begin, _OPEN)


def _offered(
    ctx: click.Context, param: click.Parameter, begin: str, states: tuple[str, ...]
) -> list[CompletionItem]:
    """The latest jobs whose ids begin so; none if there is no server: a shell shows no errors."""
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress

    given = ctx.params
    try:
        address = ServerAddress.find(given.get("server"), given.get("state_folder"))
        with LiveClient(address) as client:
            found = _rows(client, states)
    except MotetError:
        return []
    taken = given.get(param.name or "") or ()
    chosen = [job for job in found if job["id"].startswith(begin) and job["id"] not in taken]
    return [
        CompletionItem(job["id"], help=f"{job['name']} {job['state']}")
        for job in chosen[-1 : -_MOST - 1 : -1]
    ]


def _rows(client: LiveClient, states: tuple[str, ...]) -> list[dict[str, Any]]:
    """Only those that have not ended, where there are so many that a user would wait."""
    found = list(islice(client.jobs(states), _MOST_READ))
    is_all = len(found) < _MOST_READ or states == _OPEN
    return found if is_all else list(islice(client.jobs(_OPEN), _MOST_READ))
