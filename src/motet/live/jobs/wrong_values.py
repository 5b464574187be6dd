"""What is wrong with a value that Pydantic refuses, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LONGEST_VALUE = 60
_WANTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "byte_size": "bytes, or a number with a unit such as 4GB or 500MiB",
    "byte_size_unit": "bytes, or a number with a unit such as 4GB or 500MiB",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "string_unicode": "text",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "{pattern}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "dict_type": "a section with names and values",
    "model_type": "a section with names and values",
    "model_attributes_type": "a section with names and values",
    "list_type": "a list",
    "tuple_type": "a list",
    "datetime_from_date_parsing": "a date and time such as 2026-03-02T08:00:00Z",
    "datetime_parsing": "a date and time such as 2026-03-02T08:00:00Z",
    "datetime_type": "a date and time such as 2026-03-02T08:00:00Z",
    "timezone_aware": "a date and time with its zone, such as 2026-03-02T08:00:00Z",
}
"""What a value has to be, by Pydantic's type of the error; in braces fields of its context."""


def wrong_value(problem: Mapping[str, Any], named_patterns: Mapping[str, str]) -> str:
    """`'many'; give a whole number`, or Pydantic's own message for other types of errors.

    `problem`: of `ValidationError.errors()`. `named_patterns`: regular expressions in words.
    """
    wanted = _WANTED.get(problem["type"])
    if wanted is None:
        return str(problem["msg"]).removeprefix("Value error, ")
    context = dict(problem.get("ctx", {}))
    pattern = str(context.get("pattern", ""))
    context["pattern"] = named_patterns.get(pattern, f"text of the form {pattern}")
    shown = repr(problem.get("input"))
    if len(shown) > _LONGEST_VALUE:
        shown = f"{shown[:_LONGEST_VALUE]}..."
    return f"{shown}; give {wanted.format_map(context)}"
