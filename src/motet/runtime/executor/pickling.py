"""What goes between a controller and its executors, as bytes."""

from __future__ import annotations

import sys

import cloudpickle

from motet.runtime.core.application import Application


def pickle_by_value(app: Application) -> None:
    """Executors cannot import an application that was loaded from a user's file: send its code."""
    module = sys.modules.get(type(app).__module__)
    if module is not None and not module.__name__.startswith("motet."):
        cloudpickle.register_pickle_by_value(module)


def pickled(value: object) -> bytes:
    """The bytes from which `pickle.loads` makes the value."""
    data: bytes = cloudpickle.dumps(value)
    return data
