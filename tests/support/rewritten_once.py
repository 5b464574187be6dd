"""Processes of a test run compile each module once: every one of them begins with a part.

pytest rewrites the assertions of a test module when it is first imported and keeps the result
beside the bytecode. All processes collect all modules in the same order, so from a fresh clone each
of them would rewrite the module that the others are rewriting, and compile the same sources. pytest
has no setting for it.
"""

from __future__ import annotations

import compileall
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from _pytest.assertion.rewrite import assertstate_key

_SOURCES = (Path(__file__).parents[2] / "src", Path(__file__).parent)


def rewrite_a_part(config: pytest.Config) -> None:
    """Compile the sources, and rewrite the test modules, of one process out of all; nothing without
    pytest-xdist.

    A process that comes to a module before its owner compiles it itself.
    """
    worker: dict[str, str | int] | None = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode or config.getoption("assertmode") == "plain":
        return
    first, step = int(str(worker["workerid"]).removeprefix("gw")), int(worker["workercount"])
    sources = sorted(source for folder in _SOURCES for source in folder.rglob("*.py"))
    for source in sources[first::step]:
        compileall.compile_file(source, quiet=2)  # Unless its bytecode is there.
    for module in sorted(_modules(config.args))[first::step]:
        _rewrite(module, config)


def _modules(arguments: list[str]) -> Iterator[Path]:
    """The files that the arguments of pytest name, with tests or without."""
    for path in {Path(argument.partition("::")[0]).absolute() for argument in arguments}:
        if path.is_dir():
            yield from path.rglob("test_*.py")
        elif path.is_file():
            yield path


def _rewrite(source: Path, config: pytest.Config) -> None:
    """Leave the bytecode where pytest looks for it, unless that of this source is there."""
    folder = rewrite.get_cache_dir(source)
    bytecode = folder / (source.stem + rewrite.PYC_TAIL)
    if rewrite._read_pyc(source, bytecode) is None and rewrite.try_makedirs(folder):
        source_hash, code = rewrite._rewrite_test(source, config)
        rewrite._write_pyc(config.stash[assertstate_key], code, source_hash, bytecode)
