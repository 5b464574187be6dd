"""`motet testbed`: what is refused before anything is made, and what the screen says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.testbed.screen import status_page, warn_of_scarce_cpus
from motet.testbed.hosts import FRONT_HOST, Blueprint, Host, Limits, equal_machines
from motet.testbed.status import HostStatus, Status


def refusal(*arguments: str) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(motet, ["testbed", *arguments], catch_exceptions=False)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["up"], "give either --machines N or --types FILE"),
        (["up", "--machines", "0"], "0 machines: a testbed has 1 to 200"),
        (["up", "--machines", "2", "--cpus", "lots"], "--cpus: 'lots' is not a number of CPUs"),
        (["up", "--machines", "2", "--bandwidth", "5"], "--bandwidth: '5' is not a bandwidth"),
        (["up", "--machines", "2", "--memory", "5"], "--memory: '5' is not a memory limit"),
        (["up", "--machines", "2", "--name", "a.b"], "--name a.b: a testbed's name"),
        (["up", "--machines", "2", "--object-store", "1mb"], "--object-store: '1mb' is too small"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(arguments: list[str], message: str) -> None:
    assert message in refusal(*arguments)


def test_a_file_of_types_is_read_before_anything_is_made(tmp_path: Path) -> None:
    types = tmp_path / "hosts.csv"
    types.write_text("name,cpus\nfast,x\n")
    assert f"{types}:2: cpus: 'x'" in refusal("up", "--types", str(types))


def test_changing_nothing_is_refused() -> None:
    assert "give --cpus, --bandwidth or --memory" in refusal("set", "m0", "--name", "a")


@pytest.mark.parametrize("command", ["up", "down", "status", "set", "kill", "exec", "run"])
def test_every_command_explains_itself(command: str) -> None:
    said = CliRunner().invoke(motet, ["testbed", command, "--help"], prog_name="motet").output
    assert said.startswith(f"Usage: motet testbed {command}")


def test_more_cpus_than_there_are_is_worth_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Blueprint("t", equal_machines(8, Limits(cpus=0.5)))
    warn_of_scarce_cpus(blueprint, cpus=4)
    assert capsys.readouterr().err == ""
    warn_of_scarce_cpus(blueprint, cpus=2)
    assert "may use 4 CPUs together, this machine has 2" in capsys.readouterr().err


def test_the_screen_has_a_row_per_host_in_the_units_of_the_flags() -> None:
    host = Host(0, "m0", Limits(0.2, 50_000_000, 10**9))
    rows = (
        HostStatus(FRONT_HOST, "10.77.0.254", "up", 7, 270_000_000),
        HostStatus(host, "10.77.0.1", "dead", 0, 0),
    )
    console = Console(width=100)
    with console.capture() as captured:
        console.print(status_page(Status("t", "incomplete", "10.77.0.254:6379", rows)))
    lines = [line.split() for line in captured.get().splitlines()]
    assert lines[0] == ["testbed", "t:", "incomplete,", "Ray", "at", "10.77.0.254:6379"]
    assert lines[1][-3:] == ["down", "--name", "t'"]
    assert lines[4:] == [
        ["front", "10.77.0.254", "up", "-", "-", "-", "270", "MB", "7"],
        ["m0", "10.77.0.1", "dead", "0.2", "50mbit", "1.0", "GB", "0", "B", "0"],
    ]
