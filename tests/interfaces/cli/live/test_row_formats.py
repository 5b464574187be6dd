"""Commands that print rows have the same formats: a table, JSON, YAML and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import click
import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from live_server import LiveServer, running_server
from motet.interfaces.cli.commands import motet
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        run(found, "user create bob")
        run(found, "token create bob")
        run(found, "webhook add http://127.0.0.1:9/hook")
        run(found, "wait", run(found, "submit --name one true").strip())
        wait_until(lambda: "token" in run(found, "audit"))
        yield found


def run(server: LiveServer, command: str, *more: str) -> str:
    words = [*command.split(), *more, "--state-dir", str(server.folder)]
    return CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False).stdout


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("list", "jobs"),
        ("machine list", "machines"),
        ("queue list", "queues"),
        ("token list", "tokens"),
        ("user list", "users"),
        ("webhook list", "webhooks"),
        ("usage", "rows"),
        ("audit", "entries"),
    ],
)
def test_rows_are_the_same_in_every_format(server: LiveServer, command: str, key: str) -> None:
    rows = json.loads(run(server, command, "--json"))[key]
    assert rows
    assert yaml.safe_load(run(server, command, "-o", "yaml"))[key] == rows
    lines = [*csv.DictReader(io.StringIO(run(server, command, "-o", "csv")))]
    assert len(lines) == len(rows)
    assert set(rows[0]) - set(lines[0]) <= {"counts"}
    assert run(server, command, "-o", "table") == run(server, command)
    with pytest.raises(click.UsageError):
        run(server, command, "--json", "-o", "csv")


@pytest.mark.parametrize(
    ("command", "key"),
    [("token revoke", "tokens"), ("webhook remove", "webhooks"), ("webhook test", "webhooks")],
)
def test_a_shell_completes_names_that_the_server_knows(
    server: LiveServer, command: str, key: str
) -> None:
    known = json.loads(run(server, f"{key[:-1]} list", "--json"))[key]
    words = [*command.split(), "--state-dir", str(server.folder)]
    assert completed(words, "") == {each["id"] for each in known}


def test_ps_is_list(server: LiveServer) -> None:
    assert run(server, "ps") == run(server, "list")


def test_metrics_are_printed_whole_or_by_their_beginning(server: LiveServer) -> None:
    every = run(server, "metrics").splitlines()
    chosen = run(server, "metrics", "motet_jobs_finished").splitlines()
    assert any(line.startswith("motet_jobs_finished_total") for line in chosen)
    assert chosen == [line for line in every if "motet_jobs_finished" in line]


def test_a_shell_completes_policies_to_put_in_force() -> None:
    assert completed(["policy", "set"], "tiresias-l") == {"tiresias-las"}


def completed(words: list[str], begin: str) -> set[str]:
    complete = ShellComplete(motet, {}, "motet", "_MOTET_COMPLETE")
    return {each.value for each in complete.get_completions(words, begin)}
