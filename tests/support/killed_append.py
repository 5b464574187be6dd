"""A program that appends to a journal until it kills itself, and prints what was acknowledged."""

from __future__ import annotations

KILLED = """
import os, signal, sys
from motet.live.journal.record import Record
from motet.live.journal.store import JournalStore
store = JournalStore(sys.argv[1])
for number in range(1, 1000):
    store.append([Record(number, number, "[]", "[]", "[]", "1.0")])
    print(number, flush=True)
    if number == 20:
        os.kill(os.getpid(), signal.SIGKILL)
"""
