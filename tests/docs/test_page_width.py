"""No page of the built documentation scrolls sideways, whether on a telephone or on a desk.

Blocks of printed tables keep their columns, and pictures of packages their text, so on a narrow
screen these scroll by themselves.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium import running_chromium

pytestmark = [pytest.mark.cluster, pytest.mark.soak]  # The build runs the notebooks.

DOCS = Path(__file__).resolve().parents[2] / "docs"
NARROW_PX, WIDE_PX = 400, 1300
SCROLLS_WHEN_NARROW = ("PRE", "PICTURE", "DIV.table-wrapper", "DIV.output text_html")

SCROLLING = """() => {
  const found = [...document.querySelectorAll("body *")].filter(element => {
    const overflow = getComputedStyle(element).overflowX;
    return element.clientWidth && element.scrollWidth > element.clientWidth + 1
      && (overflow === "auto" || overflow === "scroll");
  }).map(element => element.querySelector(":scope > img") ? "PICTURE"
    : `${element.tagName}.${element.className}`);
  const page = document.scrollingElement;
  return page.scrollWidth > page.clientWidth ? ["the page", ...found] : found;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), str(folder)]
    subprocess.run(build, check=True)
    return folder


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with running_chromium() as browser:
        yield browser.new_page()


def scrolling(page: Any, site: Path, width: int) -> list[tuple[str, str]]:
    """Pages and what of them is wider than its place."""
    page.set_viewport_size({"width": width, "height": 900})
    found = []
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        found += [(file.relative_to(site).as_posix(), each) for each in page.evaluate(SCROLLING)]
    return found


def test_nothing_scrolls_sideways_on_a_wide_screen(page: Any, site: Path) -> None:
    assert scrolling(page, site, WIDE_PX) == []


def test_only_tables_lines_and_pictures_scroll_on_a_narrow_screen(page: Any, site: Path) -> None:
    found = scrolling(page, site, NARROW_PX)
    assert [each for each in found if not each[1].startswith(SCROLLS_WHEN_NARROW)] == []
    assert found, "the long lines of the pages scroll by themselves"
