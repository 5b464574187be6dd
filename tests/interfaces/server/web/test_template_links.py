"""Links of the web pages lead below the root path of the server, `--root-path`."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

TEMPLATES = files("motet.interfaces.server.web") / "templates"
OWN_SITE = "local_memory.html"
"""A server of its own, which has no root path."""

FROM_ROOT = re.compile(
    r"""\b(?:href|src|action|formaction|data-url|hx-\w+(?:-\w+)*|sse-connect)=["']?/"""
    r"""|\burl\(["']?/""",
)
SHARED = sorted(
    each.name
    for each in TEMPLATES.iterdir()
    if each.name.endswith(".html") and each.name != OWN_SITE
)


@pytest.mark.parametrize("name", SHARED)
def test_no_address_leaves_the_root_path(name: str) -> None:
    lines = (TEMPLATES / name).read_text("utf-8").splitlines()
    assert [line for line in lines if FROM_ROOT.search(line)] == []


def test_addresses_from_the_root_are_found() -> None:
    assert "base.html" in SHARED
    assert FROM_ROOT.search('<a href="/jobs">')
    assert FROM_ROOT.search("<form method='post' action='/whatif'>")
    assert FROM_ROOT.search('<tr hx-get="/jobs/1">')
    assert not FROM_ROOT.search('<a href="{{ root }}/jobs">')
    assert FROM_ROOT.search((TEMPLATES / OWN_SITE).read_text("utf-8"))
