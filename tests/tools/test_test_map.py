from __future__ import annotations

from pathlib import Path

import pytest

from test_map import ImportGraph, Relation

FILES = {
    "src/motet/__init__.py": "",
    "src/motet/engine/__init__.py": "from motet.engine.step import Engine\n",
    "src/motet/engine/step.py": "from motet.engine.state import State\nclass Engine: ...\n",
    "src/motet/engine/state.py": "class State: ...\n",
    "src/motet/engine/typed.py": "",
    "src/motet/engine/alone.py": "",
    "tests/support/driver.py": "def f():\n    from motet.engine import Engine\n",
    "tests/engine/test_state.py": "",
    "tests/engine/test_step.py": "from motet.engine import step\n",
    "tests/sim/test_drive.py": "import driver\n",
    "tests/sim/test_types.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from motet.engine.typed import T\n"
    ),
}


@pytest.fixture
def tests(tmp_path: Path) -> ImportGraph:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return ImportGraph(tmp_path)


def test_a_test_of_the_same_name_is_nearest_then_the_fewest_imports(tests: ImportGraph) -> None:
    assert tests.tests_of("motet.engine.state") == [
        Relation(0, "tests/engine/test_state.py"),
        Relation(2, "tests/engine/test_step.py"),
        Relation(4, "tests/sim/test_drive.py"),
    ]


def test_what_only_a_type_checker_imports_is_not_reached(tests: ImportGraph) -> None:
    assert tests.tests_of("motet.engine.typed") == []


def test_modules_are_those_of_the_package_without_its_init_files(tests: ImportGraph) -> None:
    names = {"alone", "state", "step", "typed"}
    assert set(tests.modules) == {f"motet.engine.{name}" for name in names}


def test_a_module_is_found_by_its_file(tests: ImportGraph, tmp_path: Path) -> None:
    path = tmp_path.resolve() / "src" / "motet" / "engine" / "step.py"
    assert tests.module_of(path) == "motet.engine.step"
