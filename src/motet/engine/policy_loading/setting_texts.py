"""Parameters of policies as text. Pure."""

from __future__ import annotations

from typing import Any


def setting_text(value: Any) -> str:
    """A value of Python as the text that settings are parsed from."""
    if isinstance(value, list | tuple):
        return ",".join(map(setting_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
