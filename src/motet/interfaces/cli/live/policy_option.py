"""A policy and its parameters from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from motet.interfaces.cli.live.name_value import name_and_value


def policy_and_settings(policy: str, settings: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The name and the parameters as text. Raises BadInput for one that is not NAME=VALUE.

    Files get absolute paths: the server runs in another folder, and so does the next one.
    """
    pairs = [name_and_value("--set", each) for each in settings]
    name = str(Path(policy).absolute()) if policy.endswith(".py") else policy
    return name, {key: _absolute(value) for key, value in pairs}


def _absolute(value: str) -> str:
    return f"@{Path(value[1:]).absolute()}" if value.startswith("@") else value
