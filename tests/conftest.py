"""What all tests share: hypothesis profiles, and where real datasets lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from example_count import FAST_EXAMPLES, FULL_EXAMPLES

REPOSITORY = Path(__file__).resolve().parents[1]

# No deadlines: a loaded machine is no bug. `make test` draws the same examples in every run, so
# that it passes or fails for the code alone; `make soak` explores at random.
settings.register_profile("fast", deadline=None, max_examples=FAST_EXAMPLES, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=FULL_EXAMPLES, print_blob=True)
settings.load_profile("fast")  # `--hypothesis-profile=soak` overrides it.


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real datasets (`MOTET_SHARED`, or `shared` beside the checkout), else a skip."""
    home = Path(os.environ.get("MOTET_SHARED", REPOSITORY.parent / "shared"))
    data = home / "data"
    if not data.is_dir():
        pytest.skip(f"needs real datasets: {data} is not there (set MOTET_SHARED)")
    return data
