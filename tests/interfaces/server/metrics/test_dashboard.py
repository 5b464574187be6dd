"""The dashboard for Grafana: what its import requires, and what the panels need to be right."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

DASHBOARD = Path(__file__).parents[4] / "docs/_static/grafana-dashboard.json"
COLUMNS = 24
CORE_PANELS = {"gauge", "stat", "timeseries", "row"}
"""Without a plugin."""


@pytest.fixture
def dashboard() -> Any:
    return json.loads(DASHBOARD.read_text())


def test_it_is_a_dashboard_that_grafana_imports(dashboard: Any) -> None:
    """As Grafana 10 and later: without an id of its own, which is that of a database."""
    assert dashboard.get("id") is None
    assert re.fullmatch("[a-zA-Z0-9_-]{1,40}", dashboard["uid"])
    assert isinstance(dashboard["title"], str)
    assert dashboard["title"].strip()
    assert 36 <= dashboard["schemaVersion"] <= 42
    assert {panel["type"] for panel in dashboard["panels"]} <= CORE_PANELS
    for each in dashboard["time"].values():
        assert re.fullmatch("now(-[0-9]+[smhdw])?", each)
    assert "__inputs" not in dashboard  # The data source is a variable.


def test_panels_have_ids_and_places_of_their_own(dashboard: Any) -> None:
    cells = [
        cell
        for place in (panel["gridPos"] for panel in dashboard["panels"])
        for cell in product(
            range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        )
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < COLUMNS
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


def test_every_query_asks_the_data_source_that_the_user_chooses(dashboard: Any) -> None:
    (variable,) = dashboard["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    source = {"type": "prometheus", "uid": f"${{{variable['name']}}}"}
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            continue
        queries = panel["targets"]
        assert {query["refId"] for query in queries} == set("ABCDEF"[: len(queries)])
        assert all(each["datasource"] == source for each in (panel, *queries))
        assert panel["fieldConfig"].keys() == {"defaults", "overrides"}


def test_a_gauge_of_a_share_ends_at_one_and_an_info_metric_shows_its_label(dashboard: Any) -> None:
    for panel in dashboard["panels"]:
        if panel["type"] == "gauge":
            limits = panel["fieldConfig"]["defaults"]
            assert (limits["unit"], limits["min"], limits["max"]) == ("percentunit", 0, 1)
        if any(query["expr"].endswith("_info") for query in panel.get("targets", ())):
            assert panel["options"]["textMode"] == "name"
