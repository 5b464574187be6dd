"""The notebooks of the documentation: kept without outputs, listed, and run without Ray.

The build of the documentation runs them, too, and shows what they give.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
WITHOUT_RAY = "import sys; sys.modules['ray'] = None"

pytestmark = pytest.mark.cluster


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return cells


def code_of(notebook: Path) -> list[str]:
    return ["".join(it["source"]) for it in cells_of(notebook) if it["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    code = [cell for cell in cells_of(notebook) if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"]] == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_a_title_and_a_place_in_the_contents(notebook: Path) -> None:
    first = cells_of(notebook)[0]
    assert first["cell_type"] == "markdown"
    assert first["source"][0].startswith("# ")
    assert f"\nnotebooks/{notebook.stem}\n" in (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.mark.soak  # `make docs` runs them, too, where Ray is installed.
@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook: Path, tmp_path: Path) -> None:
    program = "\n".join([WITHOUT_RAY, *code_of(notebook)])
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
