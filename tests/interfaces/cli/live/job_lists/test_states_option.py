"""The option --state of `motet list` and `motet cancel`."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.live.job_lists.states_option import StatesType, states_option
from motet.live.jobs.job_state import JobState

OPEN = [state for state in JobState if not state.is_final]


@click.command("show")
@states_option("Jobs in these states.", OPEN)
def show(states: Any) -> None:
    click.echo(" ".join(states))


@pytest.mark.parametrize(
    ("words", "states"),
    [
        ([], ""),
        (["--state", "PENDING"], "PENDING"),
        (["--state", "pending,running"], "PENDING RUNNING"),
        (["--state", "Running, PENDING"], "RUNNING PENDING"),
        (
            ["--state", "pending,RUNNING", "--state", "running,preempted"],
            "PENDING RUNNING PREEMPTED",
        ),
    ],
)
def test_states_in_any_case_with_commas_and_repeated(words: list[str], states: str) -> None:
    shown = CliRunner().invoke(show, words, catch_exceptions=False)
    assert (shown.exit_code, shown.output.rstrip("\n")) == (0, states)


@pytest.mark.parametrize("given", ["", "pending,", "waiting", "pending,failed"])
def test_other_words_are_refused_with_the_states_as_they_are_shown(given: str) -> None:
    refused = CliRunner().invoke(show, ["--state", given])
    assert refused.exit_code == 2
    name = given.rpartition(",")[2]
    states = "PENDING, STARTING, RUNNING, PREEMPTED, SUSPENDED"
    assert f"{name!r} is none of the states {states}" in " ".join(refused.output.split())


@pytest.mark.parametrize("command", ["list", "cancel"])
def test_the_help_names_the_states(command: str) -> None:
    shown = " ".join(CliRunner().invoke(motet, [command, "--help"]).output.split())
    assert "PENDING, STARTING, RUNNING, PREEMPTED, SUSPENDED" in shown
    assert "several with commas" in shown


def test_a_shell_completes_the_last_state() -> None:
    context, parameter = click.Context(show), show.params[0]
    found = StatesType(OPEN).shell_complete(context, parameter, "running,s")
    assert [each.value for each in found] == ["running,STARTING", "running,SUSPENDED"]
