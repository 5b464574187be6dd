"""What all tests share: where real datasets lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real datasets (`MOTET_SHARED`, or `shared` beside the checkout), else a skip."""
    home = Path(os.environ.get("MOTET_SHARED", REPOSITORY.parent / "shared"))
    data = home / "data"
    if not data.is_dir():
        pytest.skip(f"needs real datasets: {data} is not there (set MOTET_SHARED)")
    return data
