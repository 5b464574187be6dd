"""A policy and its parameters as the server takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def policy_request(policy: str, settings: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The same with absolute paths of files: the server runs in another folder, and so does the
    next one."""
    name = str(Path(policy).absolute()) if policy.endswith(".py") else policy
    return name, {key: _absolute(value) for key, value in settings.items()}


def _absolute(value: str) -> str:
    return f"@{Path(value[1:]).absolute()}" if value.startswith("@") else value
