"""Parameters of a test of which `make test` runs some and `make soak` all others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def others_in_soak(cases: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """All cases, in their order; those that are not `fast` are marked `soak`."""
    found = list(cases)
    unknown = [each for each in fast if each not in found]
    assert not unknown, f"no such cases: {unknown}"
    return [
        case
        if case in fast
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.soak)
        for case in found
    ]
