"""Whatever is written as motet CSV reads back as the same jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.sim.traces import read_trace
from motet.sim.traces.trace import MORE_COLUMNS
from motet.sim.traces.writing import motet_csv, write_text
from motet.sim.workload.workload import Workload

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).map(str.strip)
TIMES_US = st.integers(0, 10**14)
COLUMNS = (
    "submit_us",
    "duration_us",
    "gpus",
    "queue",
    "model",
    "cpus",
    "memory_bytes",
    "experiment",
)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    ids = draw(st.lists(TEXT.filter(bool), min_size=1, max_size=6, unique=True))
    size = len(ids)

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=size, max_size=size))

    return Workload.of(
        ids,
        column(TIMES_US),
        column(TIMES_US),
        column(st.integers(1, 512)),
        queues=column(TEXT.filter(bool)),  # type: ignore[arg-type]
        models=column(TEXT),  # type: ignore[arg-type]
        users=column(TEXT),  # type: ignore[arg-type]
        cpus=column(st.integers(0, 10**6)),
        memory_bytes=column(st.integers(0, 10**15)),
        experiments=column(TEXT),  # type: ignore[arg-type]
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(jobs=workloads())
def test_a_round_trip_changes_nothing(jobs: Workload, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    text = motet_csv(jobs)
    write_text(path, text)
    back = read_trace(path)

    assert (back.format, back.notices) == ("motet", ())
    for name in COLUMNS:
        assert np.array_equal(getattr(back.workload, name), getattr(jobs, name))
    assert back.workload.ids == jobs.ids
    assert back.workload.users == jobs.users
    assert back.workload.queue_names == jobs.queue_names
    assert back.workload.model_names == jobs.model_names
    assert back.workload.experiment_names == jobs.experiment_names
    assert motet_csv(back.workload, back.more) == text


def test_columns_that_are_text_survive(tmp_path: Path) -> None:
    jobs = Workload.of(["a"], [0], [1], [1])
    more = {name: (f"a {name}",) for name in MORE_COLUMNS}
    more["num_cpus"] = ("2.50",)
    write_text(tmp_path / "jobs.csv", motet_csv(jobs, more))

    assert read_trace(tmp_path / "jobs.csv").more == more


def test_the_same_text_gives_the_same_bytes_also_gzipped(tmp_path: Path) -> None:
    text = motet_csv(Workload.of(["a"], [0], [1], [1]))
    for name in ("one.csv.gz", "two.csv.gz"):
        write_text(tmp_path / name, text)

    one, two = ((tmp_path / name).read_bytes() for name in ("one.csv.gz", "two.csv.gz"))
    assert one == two
    assert one[:2] == b"\x1f\x8b"
    assert read_trace(tmp_path / "one.csv.gz").workload.ids == ("a",)


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        write_text(tmp_path / "none" / "jobs.csv", "text")


def test_a_spreadsheet_runs_no_cell_and_the_names_are_read_back(tmp_path: Path) -> None:
    formula = '=HYPERLINK("http://x")'
    jobs = Workload.of([formula, "'=b"], [0, 0], [10**6] * 2, [1, 1], users=["@sum", "-1"])
    text = motet_csv(jobs)
    assert "'=HYPERLINK" in text
    assert ",'@sum," in text
    assert ",-1," in text
    (tmp_path / "jobs.csv").write_text(text)
    found = read_trace(tmp_path / "jobs.csv").workload
    assert dict(zip(found.ids, found.users, strict=True)) == {formula: "@sum", "'=b": "-1"}
