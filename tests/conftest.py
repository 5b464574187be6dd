"""What all tests share: where real datasets lie, and how tests with a real cluster are grouped."""

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start Ray run in one pytest worker, one after the other."""
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.xdist_group("ray"))
