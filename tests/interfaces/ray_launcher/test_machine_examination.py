"""How far the clock of a machine is from that of the server."""

from __future__ import annotations

import time

from motet.interfaces.ray_launcher.installed_versions import InstalledVersions
from motet.interfaces.ray_launcher.machine_examination import ClockSample, examined
from motet.interfaces.ray_launcher.supervisor import MachineFacts, Supervisor

VERSIONS = InstalledVersions("0.1.0", "3.11.2", "2.60.0")


def sample(asked_s: float, machine_s: float, answered_s: float) -> ClockSample:
    return ClockSample(asked_s, MachineFacts(VERSIONS, machine_s), answered_s)


def test_the_quickest_answer_counts_with_half_of_its_way_as_error() -> None:
    found = examined("m1", [sample(100.0, 109.0, 104.0), sample(110.0, 117.5, 111.0)])
    assert (found.clock_offset_s, found.clock_error_s, found.at_s) == (7.0, 0.5, 111.0)
    assert (found.version, found.python, found.ray) == ("0.1.0", "3.11.2", "2.60.0")


def test_a_supervisor_tells_what_its_machine_runs() -> None:
    before = time.time()
    found = Supervisor().examine()
    assert before <= found.unix_s <= time.time()
    assert found.versions == InstalledVersions.here()
