"""Hooks of a model that its copies do not inherit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OwnHook:
    """Calls a function for the model that it was made for.

    Averages of weights begin with `copy.deepcopy(model)`, and some programs pickle whole models;
    both copy hooks. In the copy this one does nothing.
    """

    def __init__(self, function: Callable[[], None] | None = None) -> None:
        self._function = function

    def __call__(self, *_: Any) -> None:
        """As a forward pre-hook, and as a hook of load_state_dict."""
        if self._function:
            self._function()

    def __deepcopy__(self, memo: object) -> OwnHook:
        return OwnHook()

    def __reduce__(self) -> tuple[type[OwnHook], tuple[()]]:
        return OwnHook, ()
