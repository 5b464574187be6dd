"""Run the code blocks of Markdown files, so that what the reader copies works.

    python tools/run_blocks.py README.md docs/quickstart.md

- A `sh` block is run as one bash script; of a `console` block, the lines after `$ ` and those
  that continue them after a backslash. Both start in the repository with `.venv/bin` first on PATH
  and end at the first command that fails.
- A `python` block is run by the interpreter; the blocks of one file share one session.
- `make TARGET` only has to name an existing target (`make --dry-run`): this script is itself part
  of `make check`, so following it would never end. `git clone` and the `cd` after it are passed
  over: the reader who sees the file has done both.
- `<!-- not run: WHY -->` on the line before a block passes over that block.

Exit status 1 names the first block that failed by file and line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FENCE = re.compile(
    r"(?:<!-- not run: (?P<excuse>[^>]*?) -->\s*\n)?"
    r"^```(?P<language>sh|console|python)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CLONE = re.compile(r"git clone\b|cd motet$")
TIMEOUT_S = 300


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language, its text, why it is not run (or "")."""

    path: Path
    line: int
    language: str
    code: str
    excuse: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.language})"


def blocks_of(path: Path) -> Iterator[Block]:
    """Every block of the Markdown file `path` that could be run, in order."""
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        excuse = (match["excuse"] or "").strip()
        yield Block(path, line, match["language"], match["code"], excuse)


def shell_lines(block: Block) -> list[str]:
    """The lines of a shell block that are commands, fit to run inside `make check`."""
    lines = block.code.splitlines()
    if block.language == "console":
        lines = list(_console_commands(lines))
    dry = (re.sub(r"^make\b(.*)", r"make --dry-run\1 >/dev/null", line) for line in lines)
    return [line for line in dry if not CLONE.match(line)]


def _console_commands(lines: list[str]) -> Iterator[str]:
    """The lines after `$ `, and those that continue them after a backslash."""
    continues = False
    for line in lines:
        if continues or line.startswith("$ "):
            yield line if continues else line[2:]
            continues = line.endswith("\\")


def steps_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(name, command) of everything to run for one file: its shell blocks, then its Python."""
    blocks = [block for block in blocks_of(path) if not block.excuse]
    for block in blocks:
        if block.language != "python":
            yield str(block), ["bash", "-c", "\n".join(["set -euo pipefail", *shell_lines(block)])]
    session = [block for block in blocks if block.language == "python"]
    if session:
        program = "\n".join(block.code for block in session)
        yield " + ".join(map(str, session)), [sys.executable, "-c", program]


def succeeds(name: str, command: list[str]) -> bool:
    """Run one command in the repository, say how it went, and whether it went well."""
    search_path = f"{REPOSITORY / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": search_path}
    print(f"-- {name}", flush=True)
    began_s = time.monotonic()
    status = subprocess.run(
        command, cwd=REPOSITORY, env=environment, timeout=TIMEOUT_S, check=False
    ).returncode
    verdict = "ok" if status == 0 else f"FAILED with exit status {status}"
    print(f"-- {name}: {verdict}, {time.monotonic() - began_s:.1f} s", flush=True)
    return status == 0


def main(arguments: list[str]) -> int:
    """Run every file named; the first failure ends the run."""
    for path in map(Path, arguments):
        for block in blocks_of(path):
            if block.excuse:
                print(f"-- {block}: not run, {block.excuse}")
        if not all(succeeds(name, command) for name, command in steps_of(path)):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
