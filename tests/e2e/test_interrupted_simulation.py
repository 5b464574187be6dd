"""A signal during simulations in several processes: one line, nothing left."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from marked_process import motet_process
from soak_cases import others_in_soak

ENDLESS_POLICY = """\
import os
from dataclasses import dataclass
from pathlib import Path
from motet.policies.fifo import Fifo

@dataclass(frozen=True)
class Endless(Fifo):
    folder: str = ""

    def decide(self, snapshot):
        (Path(self.folder) / f"began-{os.getpid()}").touch()
        while True:
            os.getppid()

POLICIES = {"endless": Endless}
"""


@pytest.mark.parametrize("number", others_in_soak([signal.SIGINT, signal.SIGTERM], [signal.SIGINT]))
def test_a_signal_ends_all_simulations_with_one_line(
    tmp_path: Path, number: signal.Signals
) -> None:
    policy = tmp_path / "endless.py"
    policy.write_text(ENDLESS_POLICY)
    running = motet_process(
        *("simulate", "--trace", "slaq-160", "--cluster", "15x4", "--policy", policy),
        *("--seeds", "2", "--jobs", "2", "--set", f"folder={tmp_path}", "--out", tmp_path / "out"),
    )
    running.wait_until(lambda: len(list(tmp_path.glob("began-*"))) == 2)
    code, out, err = running.end(number)

    assert (code, out, err.strip()) == (128 + number, "", "motet: interrupted")
    assert running.descendants() == {}
