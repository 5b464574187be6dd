"""The directive `modules`: a table of a package's files with the first line of each docstring.

    ```{modules} motet.transport
    ```

Subpackages follow their parent's own files, each after a row with its own first line. The table is
made from the source, so it is complete. A table that is longer than a screen is closed until the
reader opens it, since what follows it would be far away. A package that does not exist is a
warning, which `make docs` turns into an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging

SOURCE = Path(__file__).resolve().parents[2] / "src"
logger = logging.getLogger(__name__)

SCREEN_ROWS = 20


class Modules(Directive):
    """Its argument is the dotted name of a package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table, parsed as Markdown."""
        name = self.arguments[0]
        folder = SOURCE.joinpath(*name.split("."))
        if not (folder / "__init__.py").is_file():
            logger.warning("modules: there is no package %s", name)
            return []
        self.state.document.settings.env.note_reread()
        holder = nodes.container()
        files = list(rows(folder, folder))
        lines = ["| file | content |", "|---|---|", *files]
        self.state.nested_parse(StringList(lines, source=name), self.content_offset, holder)
        return (
            folded(holder.children, f"Files of {name}")
            if len(files) > SCREEN_ROWS
            else holder.children
        )


def folded(content: list[nodes.Node], title: str) -> list[nodes.Node]:
    """`content` below a title that opens and closes it."""
    start, end = f"<details><summary>{title}</summary>", "</details>"
    return [nodes.raw("", start, format="html"), *content, nodes.raw("", end, format="html")]


def rows(folder: Path, root: Path) -> Iterator[str]:
    """The rows of `folder` in Markdown; paths are relative to `root`."""
    for file in sorted(folder.glob("[!_]*.py")):
        yield f"| `{file.relative_to(root)}` | {_first_line(file)} |"
    for package in sorted(path.parent for path in folder.glob("*/__init__.py")):
        charter = _first_line(package / "__init__.py")
        yield f"| **`{package.relative_to(root)}/`** | **{charter}** |"
        yield from rows(package, root)


def _first_line(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].replace("|", "\\|")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
