"""The pages of a pool as text: what they name, escape, and say if there is nothing."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from starlette.requests import Request

from motet.aggregation.wire.pool_views import (
    AggregatorView,
    JobPlacement,
    PoolJobView,
    PoolView,
    TensorView,
)
from motet.interfaces.server.accounts.caller_of_request import SCOPE_KEY
from motet.interfaces.server.aggregation.documents import (
    ClusterNames,
    placement_document,
    pool_document,
)
from motet.interfaces.server.aggregation.pool_page import pool_values, tensor_values
from motet.interfaces.server.aggregation.routes import NO_POOL
from motet.interfaces.server.web.renderer import PageRenderer
from motet.live.accounts.roles import Caller, UserRole

NAMES = ClusterNames({"run-3.1": (3, "<mlp>")}, lambda number: "m0")
JOB = PoolJobView(
    *(0, "run-3.1", "placed", (0, 1), 2, 1, (0,), 50, 100, 90, 0.0, 0.15, 2), 0.1, 400, 100
)


def rendered(template: str, values: dict[str, Any]) -> str:
    """The text of a page, without its tags."""
    scope = {
        "type": "http",
        "path": "/aggregators",
        "query_string": b"",
        "headers": [],
        SCOPE_KEY: Caller("ann", UserRole.USER, "t1"),
    }
    page = bytes(PageRenderer().render(Request(scope), template, values).body).decode()
    assert "<mlp>" not in page
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", page).split()))


def test_jobs_are_named_and_those_above_their_limit_are_counted() -> None:
    view = PoolView((), (JOB,), (), 4, 0.1)
    text = rendered("aggregators.html", pool_values(pool_document(view, NAMES)))
    assert "1 job, 1 at its loss limit or above" in text
    assert "3 <mlp> PLACED 2 1 0.0 MB 0 50 0.0001 ms 9e-05 ms 15.0% 10.0% 2" in text


@pytest.mark.parametrize(
    ("link_share", "columns"),
    [(0.0, "Used Cycle Tensors"), (0.25, "Used Link Cycle Tensors")],
)
def test_links_have_a_column_where_they_are_limited(link_share: float, columns: str) -> None:
    limited = AggregatorView(0, True, 10**6, 0.5, ("run-3.1",), 1, 0, 0, link_share=link_share)
    idle = AggregatorView(1, True, 0, 0.0, (), 0, 0, 0)
    view = PoolView((limited, idle), (JOB,), (), 4, 0.1)
    text = rendered("aggregators.html", pool_values(pool_document(view, NAMES)))
    assert columns in text
    assert ("50.0% 25.0% 1 ms" in text) == bool(link_share)


def test_an_empty_pool_says_how_jobs_come_to_it() -> None:
    text = rendered(
        "aggregators.html", pool_values(pool_document(PoolView((), (), (), 4, 0.1), NAMES))
    )
    assert "No Aggregator runs: they come with the first job" in text
    assert "No job uses the pool" in text


def test_a_server_without_a_pool_says_how_to_start_one() -> None:
    assert "start it with --aggregators N." in rendered("aggregators.html", {"problem": NO_POOL})


def test_the_page_of_a_job_says_why_a_tensor_is_where_it_is() -> None:
    tensor = TensorView("w0", (3, 4), 0, 1, 2_000_000, "best fit", ("Aggregator 1: full",))
    document = placement_document(JobPlacement(JOB, (tensor,)), NAMES)
    text = rendered("aggregator_job.html", tensor_values(document))
    assert "w0 3x4 0 1 2 ms best fit and nowhere else Aggregator 1: full" in text
