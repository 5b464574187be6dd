"""Names that helps show are those of what is there."""

from __future__ import annotations

from motet.sim.generate.named import RECIPES
from motet.sim.known_names import FORMAT_NAMES, WORKLOAD_NAMES
from motet.sim.traces import FORMATS


def test_the_names_of_workloads_are_those_that_can_be_drawn() -> None:
    assert set(WORKLOAD_NAMES) == set(RECIPES)


def test_the_names_of_formats_are_those_that_can_be_read() -> None:
    assert set(FORMAT_NAMES) == set(FORMATS)
