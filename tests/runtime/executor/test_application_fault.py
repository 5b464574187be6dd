"""An error in an application is described by its place there."""

from __future__ import annotations

import re

import pytest

from motet.apps.mlr import MLR
from motet.domain.errors import BadInput, JobFailed
from motet.runtime.executor.application_fault import describe_fault, told_faults
from toy_app import ToyRegression


class Broken(ToyRegression):
    def warm_up(self) -> None:
        _divide()

    def adopt(self, *arguments: object) -> None:
        int("x")


def _divide() -> float:
    return 1 / 0


def described(app: ToyRegression, method: str) -> str:
    try:
        getattr(app, method)()
    except Exception as error:
        return describe_fault(error, app)
    raise AssertionError("nothing was raised")


def test_the_last_place_in_the_applications_file_is_named() -> None:
    text = described(Broken(), "warm_up")
    expected = r"test_application_fault.py:\d+ in _divide: ZeroDivisionError: .*division.*"
    assert re.fullmatch(expected, text)


def test_an_error_that_arose_elsewhere_has_no_place() -> None:
    assert describe_fault(KeyError("x"), Broken()) == "KeyError: 'x'"


def test_errors_of_a_users_application_are_told_and_others_pass() -> None:
    with pytest.raises(JobFailed, match=r"in adopt: ValueError: "), told_faults(Broken()):
        Broken().adopt()
    with pytest.raises(KeyError), told_faults(ToyRegression()):
        raise KeyError("of Motet")
    with pytest.raises(AttributeError), told_faults(MLR()):
        MLR().adopt(None, None)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="as it is"), told_faults(Broken()):
        raise BadInput("as it is")
