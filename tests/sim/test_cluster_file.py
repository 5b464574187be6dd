"""`--cluster` as a size and as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.sim.cluster_file import open_cluster

CSV = """\
name,count,gpus,type,rack,cpus,memory_gb,bandwidth_gbps
big,2,8,V100,r1,96,768,100
small,1,4,P100,r2,48,1.5,
"""
YAML = """\
machines:
  - {name: big, count: 2, gpus: 8, type: V100, rack: r1, cpus: 96, memory_gb: 768,
     bandwidth_gbps: 100}
  - {name: small, gpus: 4, type: P100, rack: r2, cpus: 48, memory_gb: 1.5}
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_a_size_is_a_cluster_of_equal_machines() -> None:
    assert open_cluster("15x4").gpus.tolist() == [4] * 15


@pytest.mark.parametrize(("name", "text"), [("c.csv", CSV), ("c.yaml", YAML), ("c.yml", YAML)])
def test_a_file_lists_machines(tmp_path: Path, name: str, text: str) -> None:
    cluster = open_cluster(written(tmp_path, name, text))

    assert cluster.names == ("big-0", "big-1", "small")
    assert cluster.gpus.tolist() == [8, 8, 4]
    assert [cluster.type_names[kind] for kind in cluster.type] == ["V100", "V100", "P100"]
    assert cluster.rack.tolist() == [0, 0, 1]
    assert cluster.cpus.tolist() == [96, 96, 48]
    assert cluster.memory_bytes.tolist() == [768 * 10**9] * 2 + [15 * 10**8]
    assert cluster.bandwidth_bps.tolist() == [100 * 10**9] * 2 + [0]


def test_only_gpus_are_required(tmp_path: Path) -> None:
    cluster = open_cluster(written(tmp_path, "c.csv", "gpus\n4\n2\n"))

    assert (cluster.names, cluster.gpus.tolist()) == (("m0", "m1"), [4, 2])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.csv", "gpu\n4\n", r"c.csv:1: unknown column of a cluster 'gpu'; did you mean 'gpus'"),
        ("c.csv", "name\na\n", r"c.csv:1: .*'gpus'\) is missing"),
        ("c.csv", "gpus\nmany\n", r"c.csv:2: gpus is 'many'; give a number from 0"),
        ("c.csv", "gpus\n-1\n", "gpus is '-1'"),
        ("c.csv", "gpus\nnan\n", "gpus is 'nan'"),
        ("c.csv", "gpus\ninf\n", "gpus is 'inf'"),
        ("c.csv", "gpus\n1.5\n", "gpus is '1.5'"),
        ("c.csv", "gpus\n0\n", "no machine in it has a GPU"),
        ("c.csv", "", "c.csv: the file is empty; give a header"),
        ("c.csv", " \n\n", "c.csv: the file is empty; give a header"),
        ("c.yaml", "", "c.yaml: the file is empty; give a list of machines"),
        ("c.yml", "\n", "c.yml: the file is empty"),
        ("c.csv", "gpus\n", "no machine in it has a GPU"),
        ("c.csv", "name,gpus\na,1\na,2\n", "two machines have the name 'a'"),
        ("c.csv", "name,gpus\na\n", r"c.csv:2: the header has 2 columns"),
        ("c.csv", "count,gpus\n2000000,1\n", "count is '2000000'"),
        ("c.yaml", "machines: 3", "write a list under 'machines:'"),
        ("c.yaml", "- 4", r"entry 1: 4 is not a mapping"),
        ("c.yaml", "- {gpus: x}", r"entry 1: gpus is 'x'"),
        ("c.yaml", "a: [", "no YAML"),
        ("c.yaml", "- gpus: 4\n  gpus: 8", "c.yaml:2: 'gpus' is given twice"),
    ],
)
def test_an_invalid_cluster_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        open_cluster(written(tmp_path, name, text))


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        open_cluster("nowhere.yaml")
