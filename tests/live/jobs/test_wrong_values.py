"""Values that Pydantic refuses, in plain words."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import AwareDatetime, BaseModel, ByteSize, Field, TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType

from motet.live.jobs.wrong_values import _WANTED, wrong_value

_OF_BYTE_SIZE = ("byte_size", "byte_size_unit")
"""Types of errors that are not in the list of the core."""


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    count: Annotated[int, Field(ge=1, lt=9)] = 1
    ratio: Annotated[float, Field(gt=0, le=2, allow_inf_nan=False)] = 1
    name: Annotated[str, Field(pattern="^[a-z]+$", max_length=5)] = "a"
    other: Annotated[str, Field(pattern="^x$")] = "x"
    is_new: bool = True
    kind: Literal["one", "two"] = "one"
    colour: Colour = Colour.RED
    parts: list[int] = []
    names: dict[str, int] = {}
    at: AwareDatetime | None = None


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"count": "many"}, "'many'; give a whole number"),
        ({"count": 1.5}, "1.5; give a whole number"),
        ({"count": 0}, "0; give at least 1"),
        ({"count": 9}, "9; give less than 9"),
        ({"ratio": []}, "[]; give a number"),
        ({"ratio": 0}, "0; give more than 0.0"),
        ({"ratio": float("nan")}, "nan; give a finite number"),
        ({"name": 3}, "3; give text"),
        ({"name": "A"}, "'A'; give small letters"),
        ({"other": "y"}, "'y'; give text of the form ^x$"),
        ({"name": "abcdef"}, "'abcdef'; give at most 5 characters"),
        ({"is_new": "perhaps"}, "'perhaps'; give true or false"),
        ({"kind": "three"}, "'three'; give one of 'one' or 'two'"),
        ({"colour": "blue"}, "'blue'; give one of 'red'"),
        ({"parts": 3}, "3; give a list"),
        ({"names": 3}, "3; give a section with names and values"),
        ({"at": "soon"}, "'soon'; give a date and time such as 2026-03-02T08:00:00Z"),
        ({"at": "2026-03-02T08:00:00"}, "with its zone, such as 2026-03-02T08:00:00Z"),
        ({"name": "A" * 1000}, "AAA...; give "),
    ],
)
def test_a_wrong_value_is_shown_with_what_to_give(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(values)
    text = wrong_value(caught.value.errors()[0], {"^[a-z]+$": "small letters"})  # type: ignore[arg-type]
    assert told in text
    assert len(text) < 200


def test_the_table_names_types_that_pydantic_has() -> None:
    assert set(_WANTED) <= {*get_args(ErrorType), *_OF_BYTE_SIZE}


@pytest.mark.parametrize(
    ("value", "kind"), [*zip(["lots", "3 parsecs"], _OF_BYTE_SIZE, strict=True)]
)
def test_the_table_names_types_that_sizes_have(value: str, kind: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(ByteSize).validate_python(value)
    assert refused.value.errors()[0]["type"] == kind
