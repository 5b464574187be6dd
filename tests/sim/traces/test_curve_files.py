"""Loss curves of people's own, in files that a trace names."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.sim.curves import LossCurve
from motet.sim.traces import read_trace
from motet.sim.traces.writing import motet_csv

FileOf = Callable[..., Path]
HEADER = "job_id,submit_time,num_gpus,duration,steps,speed,speed_t0,curve,target_loss\n"
JOBS = f"{HEADER}a,0,4,,100,sync,2.5,mine.csv,\nb,0,4,,10,sync,2.5,mine.csv,3\n"
MINE = "step,loss,accuracy\n10,9,0.1\n20,5,0.2\n50,1,0.3\n"


def test_a_curve_beside_the_trace_is_spread_over_the_steps_of_every_job(file_of: FileOf) -> None:
    file_of(MINE, "mine.csv")
    work = read_trace(file_of(JOBS)).workload.work
    assert work is not None
    assert work.loss(0, [0, 25, 50, 100]).tolist() == [9, 5, 5 - 4 / 3, 1]
    assert work.loss(1, [0, 5, 10]).tolist() == pytest.approx([9, 5 - 4 / 3, 1])
    assert len(work.curves) == 1
    assert work.steps.tolist() == [100, 7]  # 3 is half the way from a quarter to the end.


def test_losses_without_steps_are_equally_far_apart(file_of: FileOf) -> None:
    file_of("loss\n4\n2\n1\n", "mine.csv")
    work = read_trace(file_of(JOBS.replace(",3", ","))).workload.work
    assert work is not None
    assert work.loss(0, [0, 25, 50, 100]).tolist() == [4, 3, 2, 1]


def test_a_curve_can_be_gzipped_in_another_folder(file_of: FileOf) -> None:
    trace = file_of(JOBS.replace("mine.csv", "runs/mine.csv.gz"))
    (trace.parent / "runs").mkdir()
    (trace.parent / "runs" / "mine.csv.gz").write_bytes(gzip.compress(MINE.encode()))
    work = read_trace(trace).workload.work
    assert work is not None
    assert work.loss(0, 0) == 9


def test_losses_of_a_training_run_are_a_curve(file_of: FileOf) -> None:
    file_of("epoch,loss,wall_s\n1,9,3.5\n2,4,3.4\n4,2,3.6\n", "mine.csv")
    work = read_trace(file_of(JOBS)).workload.work
    assert work is not None
    assert work.loss(0, [0, 33, 100]) == pytest.approx([9, 4 + 5 / 100, 2])


def test_the_hash_of_a_trace_is_also_of_the_curves_it_names(file_of: FileOf) -> None:
    curve, trace = file_of(MINE, "mine.csv"), file_of(JOBS)
    first = read_trace(trace).sha256
    assert read_trace(trace).sha256 == first
    curve.write_text(MINE.replace("0.3", "0.4"))
    assert read_trace(trace).sha256 != first
    bundled = file_of(JOBS.replace("mine.csv", "svm-sgd-a9a").replace(",3", ","))
    assert read_trace(bundled).sha256 == hashlib.sha256(bundled.read_bytes()).hexdigest()


def test_a_trace_converted_to_another_folder_finds_its_curves(file_of: FileOf) -> None:
    file_of(MINE, "mine.csv")
    jobs = read_trace(file_of(JOBS)).workload
    elsewhere = file_of("", "x").parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "jobs.csv").write_text(motet_csv(jobs))
    again = read_trace(elsewhere / "jobs.csv").workload
    assert motet_csv(again) == motet_csv(jobs)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "mine.csv: no such file; check the path"),
        ("", "mine.csv: the file is empty; give a CSV of losses"),
        ("step,los\n1,2\n", "mine.csv:1: no column 'loss'; the header has step, los; call a"),
        ("loss\n3\n", "mine.csv: 1 losses; give at least two"),
        ("loss\n3\nlow\n", "mine.csv:3: loss is 'low'; it must be a number within"),
        ("loss\n3\nnan\n", "mine.csv:3: loss is 'nan'; it must be a number"),
        ("loss\n3\n-1e13\n", "mine.csv:3: loss is '-1e13'; it must be a number"),
        ("step,loss\n1,3\n,2\n", "mine.csv:3: step is empty; it must be a number"),
        ("step,loss\n1,3\n\n1,2\n", "mine.csv:4: step is 1 after 1; it must ascend"),
        ("step,loss\n1,3\n2\n", "mine.csv:3: 1 cells, the header has 2; correct it"),
        ("loss\n3\n1\n3\n", "mine.csv: the last loss is 3, the first 3; give the curve of a"),
    ],
)
def test_what_is_no_curve_is_a_bad_row_and_one_clear_error(
    file_of: FileOf, text: str | None, said: str
) -> None:
    if text is not None:
        file_of(text, "mine.csv")
    path = file_of(f"{JOBS}z,0,4,,10,sync,2.5,,\n")
    with pytest.raises(BadInput) as raised:
        read_trace(path)
    assert f"{path}:2: curve is 'mine.csv', {path.parent}/{said}" in str(raised.value)
    assert str(raised.value).count("--skip-bad-rows") == 1
    assert read_trace(path, skip_bad_rows=True).workload.ids == ("z",)


def test_the_error_for_an_unknown_name_mentions_files(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"curve is 'mine', unknown .*or the path of a .csv with a"):
        read_trace(file_of(JOBS.replace("mine.csv", "mine")))


@given(
    st.lists(st.floats(0.1, 9), min_size=2, max_size=9),
    st.lists(st.floats(0.1, 9), min_size=9, max_size=9),
    st.floats(0, 1),
)
def test_a_loss_is_reached_at_the_first_crossing_of_the_curve(
    losses: list[float], gaps: list[float], share: float
) -> None:
    steps = np.cumsum(gaps)[: len(losses)]
    curve = LossCurve("mine", np.array(losses), steps)
    wanted = curve.lowest + share * (losses[0] - curve.lowest)
    part = curve.part_until(wanted)
    assert 0 <= part <= 1
    assert curve.at(part) == pytest.approx(wanted)
    earlier = np.linspace(0, max(part - 1e-6, 0), 50)
    assert part == 0 or (curve.at(earlier) >= wanted - 1e-9).all()


@given(st.lists(st.floats(0.1, 9), min_size=2, max_size=9), st.floats(0, 1))
def test_steps_at_equal_distances_are_as_good_as_none(losses: list[float], part: float) -> None:
    steps = 5.0 + 3.0 * np.arange(len(losses))
    one, other = LossCurve("one", np.array(losses)), LossCurve("two", np.array(losses), steps)
    assert one.at(part) == pytest.approx(float(other.at(part)))
    assert one.part_until(losses[-1]) == pytest.approx(other.part_until(losses[-1]))
