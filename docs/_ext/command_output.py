"""The directive `command`: a shell command of this checkout with what it prints today.

    ```{command} motet train --help
    ```

The page shows the command and its output, so the reference cannot drift from the program. A command
that fails or says nothing is a warning, which `make docs` turns into an error.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util import logging

WIDTH = "100"
logger = logging.getLogger(__name__)


class Command(Directive):
    """Runs its argument with this environment's programs first on PATH."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """A literal block: `$ command`, then what it printed."""
        command = self.arguments[0]
        done = subprocess.run(
            shlex.split(command), env=_environment(), capture_output=True, text=True, check=False
        )
        if done.returncode or not done.stdout.strip():
            logger.warning(
                "%s: exit status %d, no output or %r", command, done.returncode, done.stderr
            )
        text = f"$ {command}\n{done.stdout.rstrip()}"
        return [nodes.literal_block(text, text, language="console")]


def _environment() -> dict[str, str]:
    programs = str(Path(sys.executable).parent)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": WIDTH, "NO_COLOR": "1"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
