from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.testbed.hosts import HostType, Limits
from motet.testbed.types_file import read_types

DEFAULTS = Limits(cpus=0.2, memory_bytes=10**9)
EXPECTED = [
    HostType("fast", 2, Limits(0.4, 100_000_000, 2 * 10**9)),
    HostType("slow", 1, Limits(0.2, 50_000_000, 10**9)),
]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_yaml_are_equivalent_and_empty_cells_default_to_the_flags(tmp_path: Path) -> None:
    csv = "name, count, cpus, bandwidth, memory\nfast,2,0.4,100mbit,2gb\nslow,,,50mbit,\n"
    yaml = """
        machines:
          - {name: fast, count: 2, cpus: 0.4, bandwidth: 100mbit, memory: 2gb}
          - {name: slow, bandwidth: 50mbit}
    """
    assert read_types(write(tmp_path, "hosts.csv", csv), DEFAULTS) == EXPECTED
    assert read_types(write(tmp_path, "hosts.yaml", yaml), DEFAULTS) == EXPECTED


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.csv", "", "no machine in it"),
        ("h.csv", "name,cpu\na,1\n", r"h.csv:2: unknown column 'cpu'; did you mean 'cpus'\?"),
        ("h.csv", "name,count\na\n", "h.csv:2: the header has 2 columns"),
        ("h.csv", "name,count\na,x\n", "h.csv:2: count is 'x'"),
        ("h.csv", "name,count\na,0\n", "h.csv:2: count is '0'"),
        ("h.csv", f"name,count\na,{'9' * 5000}\n", "h.csv:2: count is '999"),
        ("h.csv", "name,cpus\na,fast\n", "h.csv:2: cpus: 'fast' is not a number of CPUs"),
        ("h.csv", "name,bandwidth\na,50\n", "h.csv:2: bandwidth: '50' is not a bandwidth"),
        ("h.csv", "name,count\n,2\n", "h.csv:2: the type has no name"),
        ("h.yaml", "machines: 5", "write a list under 'machines:'"),
        ("h.yaml", "- 5", "entry 1: 5 is not a mapping"),
        ("h.yaml", "[", "no YAML"),
        ("h.yaml", "- name: a\n  name: b", "h.yaml:2: 'name' is given twice"),
        ("h.txt", "", "name it .csv or .yaml"),
    ],
)
def test_a_malformed_file_is_refused_with_the_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        read_types(write(tmp_path, name, text), DEFAULTS)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be read .No such file"):
        read_types(tmp_path / "h.csv", DEFAULTS)
