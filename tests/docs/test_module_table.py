"""The directive `modules` lists every file of a package with the first line of its docstring."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from module_table import folded, rows


def test_files_come_before_subpackages_and_each_has_its_first_line(tmp_path: Path) -> None:
    for name, text in {
        "__init__.py": '"""A package."""',
        "one.py": '"""The first file.\n\nMore about it.\n"""',
        "_private.py": '"""Not listed."""',
        "inner/__init__.py": '"""A | B."""',
        "inner/two.py": '"""The second file."""',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(rows(tmp_path, tmp_path)) == [
        "| `one.py` | The first file. |",
        "| **`inner/`** | **A \\| B.** |",
        "| `inner/two.py` | The second file. |",
    ]


def test_a_folded_table_stands_inside_an_element_that_opens() -> None:
    table = nodes.table()
    start, content, end = folded([table], "Files of motet.runtime")
    assert start.astext() == "<details><summary>Files of motet.runtime</summary>"
    assert (content, end.astext()) == (table, "</details>")
