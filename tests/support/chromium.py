"""A real headless Chromium, or a skipped test where none is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def running_chromium() -> Iterator[Any]:
    """A browser of Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    if PROGRAM is None:
        pytest.skip("needs Chromium: tools/test_packages.sh installs it")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=PROGRAM, args=options)
        yield browser
        browser.close()
