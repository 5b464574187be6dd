from __future__ import annotations

import ast

import pytest

from mutation_check import COUNT, PACKAGES, REPOSITORY, Mutant, drawn
from soak_cases import others_in_soak


@pytest.fixture(scope="module")
def thirty() -> list[Mutant]:
    return drawn(seed=1, count=COUNT, only="")


@pytest.mark.soak
def test_a_seed_draws_the_same_faults_on_lines_of_their_own(thirty: list[Mutant]) -> None:
    assert drawn(seed=1, count=COUNT, only="") == thirty
    assert drawn(seed=2, count=COUNT, only="") != thirty
    assert len({(it.path, it.mutation.line) for it in thirty}) == COUNT


@pytest.mark.parametrize("package", others_in_soak(PACKAGES, ["runtime/controller"]))
def test_faults_can_be_drawn_from_one_part_of_the_code(package: str) -> None:
    mutants = drawn(seed=1, count=3, only=package)
    assert len(mutants) == 3
    assert all(it.path.is_relative_to(f"src/motet/{package}") for it in mutants)


@pytest.mark.soak
def test_faults_are_drawn_from_subfolders_too() -> None:
    folders = {it.path.parent.as_posix() for it in drawn(seed=1, count=200, only="engine")}
    assert {"src/motet/engine", "src/motet/engine/journal"} <= folders


def test_every_fault_is_valid_python_and_shown_as_one_changed_line(thirty: list[Mutant]) -> None:
    for mutant in thirty:
        ast.parse(mutant.mutation.applied_to((REPOSITORY / mutant.path).read_bytes()))
        changed = [line for line in mutant.diff().splitlines()[2:] if line.startswith("+")]
        assert len(changed) == 1
