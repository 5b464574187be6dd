"""The CSV file that `motet trace convert` and `generate` write, and notices about a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from motet.interfaces.cli.shell.streams.terminal_output import data_output, is_stdout
from motet.interfaces.cli.shell.streams.visible import echo_note

if TYPE_CHECKING:
    from motet.sim.traces import Trace


def require_free_file(target: Path, *, overwrite: bool, source: Path | None = None) -> None:
    """Raises BadInput if a file would be lost; devices, pipes and "-" (stdout) are allowed."""
    from motet.domain.errors import BadInput

    if is_stdout(target) or not target.is_file():
        return
    if source is not None and source.exists() and source.samefile(target):
        raise BadInput(f"{target}: is the file that is read; name another one to write")
    if not overwrite:
        raise BadInput(f"{target}: exists already; name another file, or add --overwrite")


def write_trace_csv(target: Path, text: str, jobs: int) -> None:
    """Write the text to a file or, for "-", to stdout. `jobs`: number of jobs in it."""
    from motet.sim.traces.writing import write_text

    if is_stdout(target):
        data_output().write(text)
        return
    write_text(target, text)
    echo_note(f"{jobs:,} {'job' if jobs == 1 else 'jobs'} written to {target}")


def print_trace_notices(trace: Trace) -> None:
    """Print the notices of a trace on stderr."""
    for notice in trace.notices:
        echo_note(notice)
