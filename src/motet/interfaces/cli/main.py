"""The console script `motet`.

Neither this module nor the command modules import slow packages at module level, so that `motet
--help` takes a fraction of a second.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from motet.interfaces.cli.shell.process.supervisor import leave_on_signals
from motet.interfaces.cli.shell.streams.standard_streams import repair_standard_streams


def main() -> NoReturn:
    """Entry point of `motet`."""
    repair_standard_streams()
    leave_on_signals()
    from motet.interfaces.cli.shell.exits import exit_code_of

    sys.exit(exit_code_of(_run))


def _run() -> object:
    from motet.interfaces.cli.commands import motet

    return motet.main(prog_name="motet", standalone_mode=False)
