"""Quantities of Kubernetes (apimachinery, resource.Quantity) and the needs of pods."""

from __future__ import annotations

from decimal import Decimal

import pytest

from motet.sim.traces.formats.kubernetes.quantities import PodNeeds, needs_of_pods, pod_quantity
from motet.sim.traces.problems import BadRow

QUANTITIES = {
    "4": 4,
    "0.5": Decimal("0.5"),
    "500m": Decimal("0.5"),
    "16Gi": 16 * 2**30,
    "128974848": 128_974_848,
    "129e6": 129_000_000,
    "129M": 129_000_000,
    "123Mi": 123 * 2**20,
    "1E3": 1000,
    "1E": 10**18,
    "1k": 1000,
}


@pytest.mark.parametrize("text", QUANTITIES)
def test_quantities_have_their_suffixes(text: str) -> None:
    assert pod_quantity("cpu", text) == QUANTITIES[text]


@pytest.mark.parametrize("text", ["", "-1", "1 Gi", "Gi", "1e400", "nan", "1Kib", "9" * 40])
def test_other_texts_are_bad_rows(text: str) -> None:
    with pytest.raises(BadRow, match="which is not a quantity"):
        pod_quantity("cpu", text)


def container(**resources: dict[str, str]) -> dict[str, object]:
    return {"name": "c", "resources": resources}


def test_a_pod_needs_its_containers_or_its_largest_init_container_and_its_overhead() -> None:
    template = {
        "spec": {
            "containers": [
                container(requests={"cpu": "1", "memory": "1Gi"}, limits={"nvidia.com/gpu": "2"}),
                container(requests={"cpu": "500m"}, limits={"cpu": "8"}),
            ],
            "initContainers": [container(requests={"cpu": "4", "memory": "512Mi"})],
            "overhead": {"cpu": "250m"},
        }
    }
    needs = PodNeeds.of(needs_of_pods(template, 3), 3, None)

    assert needs == PodNeeds(gpus=6, cpus=13, memory_bytes=3 * 2**30, pods=3)


def test_accelerators_count_as_gpus_or_what_the_user_names() -> None:
    resources = {
        "nvidia.com/gpu": Decimal(1),
        "amd.com/gpu": Decimal(2),
        "nvidia.com/mig-1g.5gb": Decimal(3),
        "google.com/tpu": Decimal(4),
        "example.com/npu": Decimal(5),
        "cpu": Decimal("6.5"),
    }
    assert PodNeeds.of(resources, 1, None).gpus == 10
    assert PodNeeds.of(resources, 1, "example.com/npu").gpus == 5
    assert PodNeeds.of(resources, 1, "cpu").gpus == 7
