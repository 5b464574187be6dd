"""From a name, a file or module:Class to an application."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from motet.apps import APPLICATIONS, load_application, load_model
from motet.apps.nmf import NMF
from motet.domain.errors import BadInput, UnknownName

MINE = """
from motet.apps.nmf import NMF

class Mine(NMF):
    name = "mine"
"""
TWO = (
    MINE
    + """
class Other(NMF):
    name = "other"
"""
)


def write(folder: Path, text: str, name: str = "mine.py") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_listing_the_names_loads_nothing_heavy() -> None:
    program = (
        "import sys, motet.apps; print({'numba', 'sklearn', 'scipy', 'numpy'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_name_is_the_name_of_its_class(name: str) -> None:
    app_class = load_application(name)
    assert app_class.name == name
    assert f"{app_class.__module__}:{app_class.__name__}" == APPLICATIONS[name]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown application 'lasoo'; did you mean 'lasso'"):
        load_application("lasoo")


def test_module_and_class_name_an_application() -> None:
    assert load_application("motet.apps.nmf:NMF") is NMF


def test_a_file_holds_its_one_application(tmp_path: Path) -> None:
    mine = load_application(write(tmp_path, MINE))
    assert mine.name == "mine"
    assert mine(rank=1, epochs=1).fit(np.ones((2, 2))).score(np.ones((2, 2))) > -1


def test_a_class_chooses_among_several_in_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, TWO)
    assert load_application(f"{path}:Other").name == "other"
    with pytest.raises(BadInput, match=r"holds 2 applications \(Mine, Other\)"):
        load_application(path)
    with pytest.raises(UnknownName, match=rf"{path} 'Othr'; did you mean 'Other'"):
        load_application(f"{path}:Othr")


INCOMPLETE = """
from motet.apps.estimator import Estimator

class Half(Estimator):
    name = "half"
    prepare = model_table = initial_model = evaluate = summarise = adopt = lambda self: None
    def compute(self, batch, model, step): ...
    def aply(self, values, delta, step): ...
"""


def test_the_methods_that_a_class_lacks_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, INCOMPLETE)
    for name in (path, f"{path}:Half"):
        with pytest.raises(BadInput, match=r": Half lacks apply\(\); see docs/applications.md"):
            load_application(name)


def test_a_base_class_beside_the_application_is_no_second_one(tmp_path: Path) -> None:
    assert load_application(write(tmp_path, INCOMPLETE + MINE)).name == "mine"


def test_a_file_never_hides_a_module_of_its_name(tmp_path: Path) -> None:
    before = sys.modules["json"]
    load_application(write(tmp_path, MINE, "json.py"))
    assert sys.modules["json"] is before


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1", r"holds 0 applications \(none\); define one class that extends"),
        ("import nothing_like_it", "mine.py: ModuleNotFoundError while loading it"),
        ("def broken(:", "mine.py: SyntaxError while loading it"),
    ],
)
def test_the_error_for_a_file_without_an_application_has_the_reason(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        load_application(write(tmp_path, text))


def test_a_file_or_module_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match=r"nowhere/mine.py: no such file"):
        load_application("nowhere/mine.py")
    with pytest.raises(BadInput, match="no module 'nowhere'"):
        load_application("nowhere.mine:Mine")


def test_a_module_that_is_a_file_here_is_given_as_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apart.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"Python's path; for the file give \./apart\.py:Mine$"):
        load_application("apart:Mine")


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_value_of_a_choice_is_documented(name: str) -> None:
    """`motet app describe` shows the class's text: it names choices and points to no file."""
    app_class = load_application(name)
    text = inspect.getdoc(app_class) or ""
    assert ".py" not in text
    for parameter, kind in get_type_hints(app_class.__init__).items():
        for value in get_args(kind) if get_origin(kind) is Literal else ():
            assert value in text.partition(f"`{parameter}`:")[2], f"{parameter}={value}"


def test_other_objects_than_names_and_paths_are_refused() -> None:
    with pytest.raises(BadInput, match="5: not an application; give a name"):
        load_application(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="path=5: give the path of a model"):
        load_model(5)  # type: ignore[arg-type]
