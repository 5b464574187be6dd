"""What API, page and metrics show of a pool, from a view of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.core import GaugeMetricFamily

from motet.aggregation.wire.pool_views import (
    AggregatorView,
    JobPhase,
    JobPlacement,
    PoolJobView,
    PoolView,
    TensorView,
)
from motet.interfaces.server.aggregation.documents import (
    ClusterNames,
    placement_document,
    pool_document,
)
from motet.interfaces.server.aggregation.pool_metrics import pool_families
from motet.interfaces.server.aggregation.pool_page import pool_values, tensor_values

MS = 1_000_000
DOCUMENTED = Path(__file__).parents[4] / "docs/aggregation.md"
NAMES = ClusterNames({"run-3.1": (3, "mlp")}, lambda number: f"m{number}")


def job(name: str, phase: JobPhase, loss: float | None) -> PoolJobView:
    speeds = 100 * MS, None if loss is None else 90 * MS, 0.0, loss, 2
    sizes = 4_000_000, 3_000_000
    return PoolJobView(0, name, phase, (0, 1), 2, 4, (0,), 50, *speeds, 0.1, *sizes)


VIEW = PoolView(
    (
        AggregatorView(
            *(0, True, 100 * MS, 0.25, ("run-3.1", "run-4.1/critic"), 5, 0, 8_000_000),
            link_share=0.5,
        ),
        AggregatorView(1, True, 0, 0.0, (), 0, 5, 8_000_000),
        AggregatorView(2, False, 0, 0.0, (), 0, 0, 0),
    ),
    (job("run-3.1", "placed", 0.15), job("run-4.1/critic", "profiling", None)),
    ((0,),),
    4,
    0.1,
)


def test_the_document_has_the_names_of_the_cluster() -> None:
    found = pool_document(VIEW, NAMES)
    first = found["aggregators"][0]
    assert (first["machine"], first["job_ids"], first["used_share"]) == ("m0", ["3"], 0.25)
    assert [(each["id"], each["job_name"]) for each in found["jobs"]] == [("3", "mlp"), (None, "")]
    assert (found["most_aggregators"], found["clusters"]) == (4, [[0]])


def test_bars_of_the_page_are_parts_of_the_cycle_and_of_twice_the_limit() -> None:
    shown = pool_values(pool_document(VIEW, NAMES))
    assert [each["used_part"] for each in shown["aggregators"]] == [25.0, 0.0, 0.0]
    assert [each["used"] for each in shown["aggregators"]] == ["25.0%", "", ""]
    over, unknown = shown["jobs"]
    assert (over["loss_part"], over["is_over"], over["loss"]) == (75.0, True, "15.0%")
    assert (unknown["loss_part"], unknown["is_over"], unknown["loss"]) == (0.0, False, "")
    assert shown["over"] == 1


def test_a_tensor_is_shown_with_its_reason() -> None:
    tensor = TensorView("w0", (3, 4), 0, None, 2 * MS, "best fit", ("Aggregator 1: full",))
    document = placement_document(JobPlacement(VIEW.jobs[0], (tensor,)), NAMES)
    (shown,) = tensor_values(document)["tensors"]
    assert (shown["size"], shown["cpu"], shown["reason"]) == ("3x4", "2 ms", "best fit")
    assert shown["others"] == ["Aggregator 1: full"]


@pytest.fixture(scope="module")
def families() -> dict[str, GaugeMetricFamily]:
    return {each.name: each for each in pool_families(VIEW)}


def samples(family: GaugeMetricFamily) -> dict[str, float]:
    return {",".join(each.labels.values()): each.value for each in family.samples}


def test_metrics_count_aggregators_and_jobs(families: dict[str, GaugeMetricFamily]) -> None:
    assert samples(families["motet_aggregators"]) == {"serving": 1, "replicas": 1, "starting": 1}
    assert samples(families["motet_aggregator_cycle_used_ratio"]) == {"0": 0.25, "1": 0.0}
    assert samples(families["motet_aggregator_link_used_ratio"]) == {"0": 0.5, "1": 0.0}
    phases = samples(families["motet_aggregation_jobs"])
    assert (phases["placed"], phases["profiling"], phases["waiting"]) == (1, 1, 0)


def test_metrics_compare_losses_with_limits(families: dict[str, GaugeMetricFamily]) -> None:
    assert samples(families["motet_aggregation_loss_ratio"]) == {"": 0.15}
    assert samples(families["motet_aggregation_jobs_over_limit"]) == {"": 1}


def test_the_documentation_lists_every_metric(families: dict[str, GaugeMetricFamily]) -> None:
    told = set(re.findall(r"`(motet_\w+)`", DOCUMENTED.read_text(encoding="utf-8")))
    assert told == {*families, "motet_aggregation_up"}
