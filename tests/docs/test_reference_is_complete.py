"""Every format, data set, application and command is in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.apps import APPLICATIONS
from motet.datasets.builtin.catalogue import dataset_names
from motet.datasets.formats.format import Format
from motet.datasets.formats.recognition import FORMATS
from motet.interfaces.cli.testbed.command import testbed_group as group

REPOSITORY = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
def test_every_format_and_its_aliases_are_in_the_data_reference(entry: Format) -> None:
    names = (entry.name, *entry.aliases)
    assert [name for name in names if f"`{name}`" not in page("docs/reference/data.md")] == []


@pytest.mark.parametrize("name", dataset_names())
def test_every_data_set_name_is_in_the_data_reference(name: str) -> None:
    assert f"`{name}`" in page("docs/reference/data.md")


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_application_is_in_the_readme_and_the_reference(name: str) -> None:
    assert f"`{name}`" in page("README.md")
    assert f"motet app describe {name}\n" in page("docs/reference/apps.md")


@pytest.mark.parametrize("name", group.commands)
def test_every_command_of_the_testbed_is_in_its_reference(name: str) -> None:
    assert f"motet testbed {name}" in page("docs/reference/testbed.md")
