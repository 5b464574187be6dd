"""The command tree: what it lists, explains and completes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from motet.apps import APPLICATIONS
from motet.interfaces.cli.commands import COMMANDS, motet


def output_of(*arguments: str, **environment: str) -> str:
    result = CliRunner().invoke(motet, arguments, prog_name="motet", env=environment)
    assert result.exit_code == 0, result.output
    return result.output


def test_help_lists_every_command_with_a_line_about_it() -> None:
    lines = output_of("--help").splitlines()

    for name in COMMANDS:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line.endswith(".")


@pytest.mark.parametrize("group", [(), ("app",), ("policy",), ("trace",)])
def test_a_group_without_a_command_prints_its_help(group: tuple[str, ...]) -> None:
    assert output_of(*group) == output_of(*group, "--help")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_in_80_columns(name: str) -> None:
    lines = output_of(name, "--help", COLUMNS="80").splitlines()

    assert lines[0].startswith(f"Usage: motet {name}")
    assert max(map(len, lines)) <= 88


def test_every_flag_of_train_is_explained() -> None:
    command = motet.get_command(click.Context(motet), "train")
    assert command is not None

    assert [it.name for it in command.params if isinstance(it, click.Option) and not it.help] == []


def test_the_flags_of_train_stand_under_headings() -> None:
    lines = output_of("train", "--help").splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]

    assert headings == ["Argument:", "Data:", "Cluster:", "Training:", "Output:", "Help:"]


def test_app_list_names_every_application_with_a_line_about_it() -> None:
    lines = output_of("app", "list").splitlines()

    assert [line.split()[0] for line in lines] == list(APPLICATIONS)
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_app_describe_lists_parameters_as_they_are_set(name: str) -> None:
    text = output_of("app", "describe", name)

    assert "Parameters (--set NAME=VALUE):" in text
    assert "  consistency=bsp" in text
    assert "random_state" not in text


def test_app_describe_prints_one_json_document() -> None:
    document = json.loads(output_of("app", "describe", "nmf", "--json"))
    parameters = {entry["name"]: entry["default"] for entry in document["parameters"]}

    assert (document["name"], document["reads"]) == ("nmf", "ratings")
    assert parameters["rank"] == 16


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_of_the_shell(shell: str) -> None:
    assert "_MOTET_COMPLETE" in output_of("completion", shell)


def completed(line: str) -> list[str]:
    """What the shell would offer for the last word of `line`."""
    asked = {
        "_MOTET_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    return CliRunner().invoke(motet, prog_name="motet", env=asked).output.split()


def test_completion_lists_commands_and_applications() -> None:
    names = [name for name in APPLICATIONS if name.startswith("l")]
    assert completed("motet train l") == [f"plain,{name}" for name in names]


@pytest.mark.parametrize("command", ["whatif --policy", "server --policy", "policy set"])
def test_completion_offers_policies_of_the_live_cluster(command: str) -> None:
    assert completed(f"motet {command} best") == ["plain,best-effort"]


def test_completion_offers_names_of_data_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dice.csv").touch()

    names = ["diabetes", "digits", "digits-ratings", "dice.csv"]
    assert completed("motet train mlr --data di") == [f"plain,{name}" for name in names]
    assert completed("motet train mlr --data /tm") == ["file,/tm"]


def test_completion_offers_the_applications_own_and_common_parameters() -> None:
    assert "plain,topics=20" in completed("motet train lda --set to")
    assert "plain,consistency=bsp" in completed("motet train lda --set con")
    assert completed("motet train mlr --set topi") == []
    assert completed("motet train nonsense --set stal") == ["plain,staleness=0"]


def test_a_class_without_docstring_is_not_described_by_its_base(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("from motet import Lasso\n\nclass Own(Lasso):\n    name = 'own'\n")
    text = output_of("app", "describe", str(path))
    assert text.startswith("own: no description; give its class a docstring\n")
