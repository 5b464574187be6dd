"""The pool of a user that names none."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_data_path

from motet.aggregation.wire.pool_address import ADDRESS_FILE


def default_pool_folder() -> Path:
    """Its folder."""
    return user_data_path("motet") / "aggregation"


def default_address() -> Path:
    """Its address file."""
    return default_pool_folder() / ADDRESS_FILE
