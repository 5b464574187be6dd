"""Signals as exceptions."""

from __future__ import annotations

import signal

import pytest

from motet.domain.errors import Interrupted
from motet.interfaces.cli.shell.process.signals import raise_on_signals


def interrupted_twice() -> None:
    with raise_on_signals():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)


def test_the_first_signal_raises_and_further_ones_are_ignored() -> None:
    before = signal.getsignal(signal.SIGTERM)

    with pytest.raises(Interrupted, match="stopped by SIGTERM"):
        interrupted_twice()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raise_on_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
