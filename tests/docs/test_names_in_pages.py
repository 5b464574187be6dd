"""Modules, classes and files that the documentation names exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "motet"
PAGES = sorted(
    [
        *REPOSITORY.glob("docs/*.md"),
        *REPOSITORY.glob("docs/*/*.md"),
        REPOSITORY / "README.md",
        REPOSITORY / "CONTRIBUTING.md",
    ]
)
DOTTED = re.compile(r"(?<![\w/.-])motet(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"(?<![\w-])(?:\.{1,2}/)*(?:[\w-]+/)*[\w-]+\.py\b")
FOLDER = re.compile(r"`((?:[\w-]+/)+)`")
YOURS = {"./mine.py", "./file.py", "file.py"}
"""Names of files that a reader writes."""


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def exists(page: Path, name: str) -> bool:
    """A path is relative to the page, the repository or the source; a bare name is of a module."""
    places = page.parent, REPOSITORY, SOURCE.parent, SOURCE
    if any((place / name).exists() for place in places):
        return True
    return "/" not in name and any(SOURCE.rglob(name))


def resolve(name: str) -> object:
    """The module or attribute of a dotted name; raises AttributeError if there is none."""
    parts = name.split(".")
    is_module = [find_module(".".join(parts[:count])) for count in range(1, len(parts) + 1)]
    depth = is_module.index(False) if False in is_module else len(parts)
    return reduce(getattr, parts[depth:], import_module(".".join(parts[:depth])))


def find_module(name: str) -> bool:
    parent, _, _ = name.rpartition(".")
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        assert parent
        return False


def dotted_names() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for name in sorted(set(DOTTED.findall(page.read_text(encoding="utf-8")))):
            yield name_of(page), name


@pytest.mark.parametrize(("page", "name"), list(dotted_names()))
def test_every_module_and_class_in_a_page_exists(page: str, name: str) -> None:
    del page  # For the name of the test.
    assert resolve(name) is not None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_in_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {name for name in FILE.findall(text) if "NAME" not in name} - YOURS
    assert sorted(name for name in named if not exists(page, name)) == []


@pytest.mark.parametrize("name", ["docs/architecture.md", "docs/structures.md", "CONTRIBUTING.md"])
def test_every_folder_in_a_page_about_the_source_exists(name: str) -> None:
    page = REPOSITORY / name
    found = FOLDER.findall(page.read_text(encoding="utf-8"))
    named = {folder for folder in found if "NAME" not in folder}
    assert named
    assert sorted(folder for folder in named if not exists(page, folder)) == []


def test_a_name_that_does_not_exist_is_found_out() -> None:
    with pytest.raises(AttributeError):
        resolve("motet.domain.errors.NoSuchError")
    with pytest.raises(AttributeError):
        resolve("motet.domain.no_such_module")
    assert not exists(PAGES[0], "no/such/file.py")
    assert not exists(PAGES[0], "no_such_file.py")
