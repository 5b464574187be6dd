"""Jobs, queues and machines as arguments and options, which a shell completes from the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from motet.live.jobs.job_state import JobState

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient

_MOST, _MOST_READ = 200, 2000
_ANSWER_WITHIN_S = 2.0
_OPEN = tuple(state.value for state in JobState if not state.is_final)
_Command: TypeAlias = Callable[..., Any]
_Names: TypeAlias = Callable[["LiveClient"], Iterable[tuple[str, str]]]
Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""What a shell offers for a word that begins so."""


def job_argument(
    name: str = "job", *, is_many: bool = False, is_optional: bool = False, all_states: bool = True
) -> Callable[[_Command], _Command]:
    """The argument JOB, or JOB... `all_states`: whether a shell offers jobs that have ended."""
    complete = complete_job if all_states else _completer(_open_jobs)
    return _argument(name, "JOB", complete, is_many=is_many, is_optional=is_optional)


def job_option(*words: Any, **options: Any) -> Callable[[_Command], _Command]:
    """An option whose value is a job; arguments are those of `click.option`."""
    return click.option(*words, metavar="JOB", shell_complete=complete_job, **options)


def array_option(*words: Any, **options: Any) -> Callable[[_Command], _Command]:
    """An option whose value is an array of jobs; arguments are those of `click.option`."""
    return click.option(*words, metavar="ID", shell_complete=_completer(_arrays), **options)


def queue_argument(name: str = "name", *, is_many: bool = False) -> Callable[[_Command], _Command]:
    """The argument NAME, or NAME..., of queues that exist."""
    return _argument(name, "NAME", _completer(_queues), is_many=is_many, is_optional=False)


def queue_option(help_text: str) -> Callable[[_Command], _Command]:
    """The option `--queue Q`."""
    complete = _completer(_queues)
    return click.option("--queue", metavar="Q", shell_complete=complete, help=help_text)


def token_argument() -> Callable[[_Command], _Command]:
    """The argument ID of a token that is not revoked."""
    return _argument("token", "ID", _completer(_tokens), is_many=False, is_optional=False)


def webhook_argument() -> Callable[[_Command], _Command]:
    """The argument ID of a webhook."""
    return _argument("webhook", "ID", _completer(_webhooks), is_many=False, is_optional=False)


def machine_argument(*, is_many: bool = False) -> Callable[[_Command], _Command]:
    """The argument NAME of a machine; `is_many`: any number of them."""
    name = "names" if is_many else "name"
    return _argument(name, "NAME", _completer(_machines), is_many=is_many, is_optional=is_many)


def _argument(
    name: str, word: str, complete: Completer, *, is_many: bool, is_optional: bool
) -> Callable[[_Command], _Command]:
    return click.argument(
        name,
        metavar=f"[{word}]..." if is_optional else f"{word}..." if is_many else word,
        nargs=-1 if is_many else 1,
        required=not is_optional,
        shell_complete=complete,
    )


# -- what the server knows -------------------------------------------------------------------------


def _jobs(client: LiveClient) -> Iterable[tuple[str, str]]:
    """Only those that have not ended, where there are so many that a user would wait."""
    found = list(islice(client.jobs(), _MOST_READ))
    return _latest_first(found) if len(found) < _MOST_READ else _open_jobs(client)


def _open_jobs(client: LiveClient) -> Iterable[tuple[str, str]]:
    return _latest_first(islice(client.jobs(_OPEN), _MOST_READ))


def _arrays(client: LiveClient) -> Iterable[tuple[str, str]]:
    found = islice(client.jobs(), _MOST_READ)
    return _latest_first(job for job in found if job["kind"] == "array")


def _latest_first(jobs: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(job["id"], f"{job['name']} {job['state']}") for job in jobs][::-1]


def _queues(client: LiveClient) -> Iterable[tuple[str, str]]:
    return [(queue["name"], f"{queue['waiting']} waiting") for queue in client.queues()]


def _machines(client: LiveClient) -> Iterable[tuple[str, str]]:
    return [(machine["name"], machine["state"]) for machine in client.machines()]


def _tokens(client: LiveClient) -> Iterable[tuple[str, str]]:
    valid = (token for token in client.tokens() if token["revoked_at"] is None)
    return [(token["id"], f"{token['user']} {token['label']}".strip()) for token in valid]


def _webhooks(client: LiveClient) -> Iterable[tuple[str, str]]:
    return [(webhook["id"], webhook["url"]) for webhook in client.webhooks()]


def _completer(names: _Names) -> Completer:
    def complete(ctx: click.Context, param: click.Parameter, begin: str) -> list[CompletionItem]:
        taken = ctx.params.get(param.name or "") or ()
        used = {str(each) for each in taken} if isinstance(taken, tuple) else set()
        chosen = (
            CompletionItem(name, help=text)
            for name, text in _asked(ctx.params, names)
            if name.startswith(begin) and name not in used
        )
        return list(islice(chosen, _MOST))

    return complete


def _asked(given: dict[str, Any], names: _Names) -> list[tuple[str, str]]:
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress

    try:
        address = ServerAddress.find(given.get("server"), given.get("state_folder"))
        with LiveClient(address, timeout_s=_ANSWER_WITHIN_S) as client:
            return list(names(client))
    except Exception:  # No server, or not one of Motet: a shell shows no errors.
        return []


complete_job: Completer = _completer(_jobs)
