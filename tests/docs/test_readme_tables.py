"""The table of simulations in the README is what its command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from marked_process import run_motet

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"^```console\n\$ \.venv/bin/motet (simulate .*?[^\\])\n(.*?)^```$", re.M | re.S)
WIDTH = "100"


@pytest.mark.soak
def test_the_readme_shows_the_output_of_its_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", WIDTH)
    ((command, shown),) = BLOCK.findall(README.read_text(encoding="utf-8"))
    ended = run_motet(*shlex.split(command.replace("\\\n", " ")))

    assert (ended.code, ended.err) == (0, "")
    assert [line.rstrip() for line in ended.out.splitlines()] == shown.splitlines()
