"""Trace files for tests: small ones on the spot, real ones where they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """Folder of real traces (in `MOTET_SHARED`, or `shared` beside the checkout), else a skip."""
    home = Path(os.environ.get("MOTET_SHARED", REPOSITORY.parent / "shared"))
    if not (home / "traces").is_dir():
        pytest.skip(f"needs real traces: {home / 'traces'} is not there (set MOTET_SHARED)")
    return home / "traces"


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes a text to a file and returns its path."""

    def write(text: str, name: str = "jobs.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
