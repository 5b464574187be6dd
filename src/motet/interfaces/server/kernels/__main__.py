"""Compiles the kernels of the policy on stdin: `{"policy": ..., "settings": ..., "parent": ...}`.

The exit status of an error is that of the command line; stdout has its message. Its temporary files
are its parent's to remove, since both can be killed at any time.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from motet.domain.errors import MotetError
from motet.interfaces.server.kernels.rehearsal import rehearse
from motet.runtime.executor.process_control import die_with_parent, exit_at_once


def compile_asked() -> int:
    """The exit status."""
    asked = json.loads(sys.stdin.read())
    die_with_parent(asked["parent"])
    output = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            rehearse(asked["policy"], asked["settings"], Path(tempfile.mkdtemp()))
    except MotetError as error:
        output.write(str(error))
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    exit_at_once(compile_asked())
