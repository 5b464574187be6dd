"""The option --state of commands on jobs: some of the states of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from motet.live.jobs.job_state import JobState

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_SEPARATOR = ","


class StatesType(click.types.StringParamType):
    """States of jobs from `PENDING` or `pending,running`."""

    name = "states"

    def __init__(self, states: Sequence[JobState]) -> None:
        """`states`: those that may be given."""
        self._states = {state.value: state for state in states}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A tuple of states, in the given order."""
        if isinstance(value, tuple):
            return value
        found = []
        for name in str(value).split(_SEPARATOR):
            state = self._states.get(name.strip().upper())
            if state is None:
                known = ", ".join(self._states)
                self.fail(f"{name.strip()!r} is none of the states {known}", param, ctx)
            found.append(state)
        return tuple(found)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The states that the last name may become, behind the ones before it."""
        before, comma, last = incomplete.rpartition(_SEPARATOR)
        names = [name for name in self._states if name.startswith(last.upper())]
        return [CompletionItem(f"{before}{comma}{name}") for name in names]


def states_option(text: str, states: Sequence[JobState]) -> Callable[[Decorated], Decorated]:
    """`--state PENDING,RUNNING`, repeatable: all states that were given, each once. `text`: which
    jobs it chooses."""
    return click.option(
        "--state",
        "states",
        multiple=True,
        metavar="S[,S...]",
        type=StatesType(states),
        callback=_each_once,
        help=f"{text} States: {', '.join(states)}, also in lower case, several with commas.",
    )


def _each_once(
    ctx: click.Context, param: click.Parameter, given: Sequence[tuple[JobState, ...]]
) -> tuple[JobState, ...]:
    del ctx, param
    return tuple(dict.fromkeys(state for states in given for state in states))
