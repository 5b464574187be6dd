"""Metrics of a server that lends memory, and of devices: dashboard and documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from motet.interfaces.server.memory.lender_figures import Family
from motet.interfaces.server.memory.local_figures import device_families
from motet.interfaces.server.memory.memory_metrics import MemoryMetrics
from motet.live.lent_memory.cluster_lenders import ClusterFolder, LenderProgram, LendingOptions
from motet.live.lent_memory.cluster_memory import ClusterMemory
from motet.live.master.requests import Workplace

DOCS = Path(__file__).parents[4] / "docs"
DASHBOARD, DOCUMENTED = DOCS / "_static/grafana-dashboard.json", DOCS / "memory.md"


@pytest.fixture
def metrics(tmp_path: Path) -> set[str]:
    """Names of a server that has not started to lend."""
    memory = ClusterMemory(
        ClusterFolder(tmp_path / "memory"),
        LendingOptions(1 << 20),
        LenderProgram({}, 60.0),
        Workplace(tmp_path, {}),
        lambda _: None,
        lambda _: None,
        lambda _: None,
    )
    families = [*MemoryMetrics(memory).collect()]
    memory.close()
    return names(families)


def names(families: Iterable[Family]) -> set[str]:
    return {each.name + ("_total" if each.type == "counter" else "") for each in families}


def test_the_dashboard_shows_every_metric_of_lenders(metrics: set[str]) -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    shown = {name for each in expressions for name in re.findall(r"\bmotet_memory_\w+", each)}
    assert shown == metrics


def test_the_documentation_lists_every_metric_of_lenders_and_devices(metrics: set[str]) -> None:
    told = set(re.findall(r"`(motet_memory_\w+)`", DOCUMENTED.read_text(encoding="utf-8")))
    assert told == metrics | names(device_families("m0", []))


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    places = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert {x for x, _ in places} == set(range(24))
