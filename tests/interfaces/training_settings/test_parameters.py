"""`--set name=value`, typed by the constructor's annotations."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.training_settings.parameters import constructor_parameters, parse_settings


class Model:
    def __init__(
        self,
        topics: int = 20,
        alpha: float = 0.1,
        standardize: bool = True,
        limit: int | None = None,
        l1: float | Literal["auto"] = "auto",
        solver: Literal["dense", "sparse"] = "dense",
        label: str = "",
    ) -> None: ...


KNOWN = constructor_parameters(Model)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("topics=50", 50),
        ("topics=1e3", 1000),
        ("alpha=1e-3", 0.001),
        ("alpha=2", 2.0),
        ("standardize=no", False),
        ("standardize=TRUE", True),
        ("limit=none", None),
        ("limit=7", 7),
        ("l1=auto", "auto"),
        ("l1=0.5", 0.5),
        ("solver=sparse", "sparse"),
        ("label=a=b", "a=b"),
    ],
)
def test_a_setting_becomes_a_value_of_the_annotated_type(setting: str, value: Any) -> None:
    (parsed,) = parse_settings([setting], KNOWN, "model").values()

    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("topics=many", "--set topics=many: topics must be a whole number (default 20)"),
        ("topics=2.5", "--set topics=2.5: topics must be a whole number (default 20)"),
        ("alpha=nan", "--set alpha=nan: alpha must be a number (default 0.1)"),
        ("alpha=inf", "--set alpha=inf: alpha must be a number (default 0.1)"),
        ("standardize=2", "--set standardize=2: standardize must be true or false (default true)"),
        ("solver=fast", "--set solver=fast: solver must be dense|sparse (default dense)"),
        ("limit=x", "--set limit=x: limit must be a whole number or none (default none)"),
        ("topics", "--set 'topics': write NAME=VALUE, for example --set topics=20"),
    ],
)
def test_the_error_for_a_wrong_value_names_the_type(setting: str, message: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse_settings([setting], KNOWN, "model")

    assert str(raised.value) == message


def test_an_unknown_name_gets_a_suggestion_and_the_known_ones_with_their_defaults() -> None:
    with pytest.raises(BadInput) as raised:
        parse_settings(["topic=3"], KNOWN, "model")

    assert str(raised.value) == (
        "unknown parameter of model 'topic'; did you mean 'topics'? known: topics=20, alpha=0.1, "
        "standardize=true, limit=none, l1=auto, solver=dense, label="
    )


def test_a_parameter_may_be_given_only_once() -> None:
    with pytest.raises(BadInput, match="--set alpha is given twice"):
        parse_settings(["alpha=1", "alpha=2"], KNOWN, "model")
