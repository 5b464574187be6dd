"""Signals as exceptions: an interrupted `motet testbed up` removes what it created."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from motet.domain.errors import Interrupted
from motet.interfaces.cli.shell.process.supervisor import SIGNALS


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """The first signal raises Interrupted; further signals are ignored during the removal."""
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def interrupt(number: int, frame: object) -> None:
        del frame
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(f"stopped by {signal.Signals(number).name}")

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # ignored before, as `nohup` does for SIGHUP
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
