"""Options of the form NAME=VALUE."""

from __future__ import annotations

from motet.domain.errors import BadInput


def name_and_value(option: str, text: str) -> tuple[str, str]:
    """The two parts. Raises BadInput that names the option."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"{option} {text}: write NAME=VALUE")
    return name, value
