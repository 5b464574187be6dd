"""Types of options: durations, ports and output folders."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from motet.interfaces.cli.shell.option_types import DurationType, MachinesType
from motet.interfaces.cli.shell.out_folder import OutFolder
from motet.interfaces.cli.shell.port_number import PortNumber


@pytest.mark.parametrize(("text", "port"), [("0", 0), ("65535", 65535)])
def test_ports_are_whole_numbers_of_16_bits(text: str, port: int) -> None:
    assert PortNumber().convert(text, None, None) == port


@pytest.mark.parametrize("text", ["-1", "65536", "80a", ""])
def test_other_texts_are_no_port(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a port number; give one from 0 to 65535"):
        PortNumber().convert(text, None, None)


def test_an_output_folder_is_a_path_that_need_not_exist() -> None:
    assert OutFolder().convert("a/b", None, None) == Path("a/b")


def test_an_output_folder_without_a_name_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="the folder has no name"):
        OutFolder().convert("", None, None)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("0.5", 0.5), ("90s", 90), ("30m", 1800), ("1.5h", 5400)]
)
def test_durations_are_seconds_unless_they_have_a_unit(text: str, seconds: float) -> None:
    assert DurationType().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["0", "", "h", "-5", "2 h", "1e3", "1w"])
def test_other_texts_are_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter, match="give seconds, or a time as 90s, 30m, 2h or 1d"):
        DurationType().convert(text, None, None)


def test_a_number_of_machines_may_be_any() -> None:
    assert [MachinesType().convert(text, None, None) for text in ("3", "any")] == [3, "any"]


@pytest.mark.parametrize("text", ["0", "-1", "some", "1.5", ""])
def test_other_texts_are_no_number_of_machines(text: str) -> None:
    with pytest.raises(click.BadParameter, match="a number of machines from 1 on, or any"):
        MachinesType().convert(text, None, None)
