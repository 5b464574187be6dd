"""Resources of Slurm in the forms of sacct(1): AllocTRES, and AllocGRES of older versions."""

from __future__ import annotations

import pytest

from motet.sim.traces.formats.slurm.tres import cpus_in, gpus_in, memory_bytes_in, nodes_in

GPUS = {
    "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1": 2,
    "billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=64G,node=1": 2,
    "cpu=8,gres/gpu:a100=1,gres/gpu:a40=2,node=1": 3,
    "cpu=8,gres/gpu=3,gres/gpu:a100=1,gres/gpu:a40=2": 3,
    "cpu=8,mem=64G,node=1": 0,
    "cpu=8,gres/mps=50,gres/shard=2": 0,
    "gpu:4": 4,
    "gpu:a100:4": 4,
    "gpu": 1,
    "gres:gpu:2": 2,
    "gpu:a100:2(S:0,1),mps:100,gpu:a40:1": 3,
    "craynetwork:1": 0,
    "(null)": 0,
    "6": 6,
}


@pytest.mark.parametrize("text", GPUS)
def test_gpus_are_counted_once(text: str) -> None:
    assert gpus_in(text) == GPUS[text]


def test_cpus_nodes_and_memory_are_read_from_the_same_text() -> None:
    text = "billing=8,cpu=12,gres/gpu=2,mem=1.5G,node=3"

    assert (cpus_in(text), nodes_in(text)) == (12, 3)
    assert memory_bytes_in(text) == 3 * 2**29
    assert (cpus_in("7"), nodes_in("2"), memory_bytes_in("64000M")) == (7, 2, 64_000 * 2**20)
    assert (cpus_in("gres/gpu=1"), nodes_in("gres/gpu=1")) == (0, 0)
    assert memory_bytes_in("512") == 512 * 2**20


@pytest.mark.parametrize("text", ["cpu=8,gres/gpu", "cpu=8,gres/gpu=two", "cpu=8,gres/gpu=-", "="])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="which "):
        gpus_in(text)
    with pytest.raises(ValueError, match="which "):
        memory_bytes_in("mem=many")
