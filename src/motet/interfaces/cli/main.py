"""The console script: quick to start, quick to leave.

Nothing slow is imported here, nor by the command modules at their top: `motet --help` is instant.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from motet.interfaces.cli.shell.supervisor import leave_on_signals


def main() -> NoReturn:
    """Entry point of `motet`."""
    leave_on_signals()
    from motet.interfaces.cli.shell.exits import exit_code_of

    sys.exit(exit_code_of(_run))


def _run() -> object:
    from motet.interfaces.cli.commands import motet

    return motet.main(prog_name="motet", standalone_mode=False)
