"""Generated workloads have the mix that was asked for, and depend on the seed alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.sim.generate import (
    Recipe,
    generate,
    parse_arrivals,
    parse_durations,
    parse_mix,
)
from motet.sim.generate.demands import parse_demands
from motet.sim.generate.mix import whole_shares
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak


def drawn(seed: int = 0, **recipe: object) -> Workload:
    return generate(Recipe(**recipe), np.random.default_rng(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_the_default_is_tiresias_testbed_workload(seed: int) -> None:
    jobs = drawn(seed)
    minutes = jobs.duration_us / 60e6
    small, short = jobs.gpus <= 4, minutes < 800 / 60

    assert Counter(jobs.gpus.tolist()) == {1: 240, 2: 40, 4: 80, 8: 90, 16: 25, 32: 5}
    assert Counter(jobs.model.tolist()) == dict.fromkeys(range(10), 48)
    bins = [(small & short), (small & ~short), (~small & short), (~small & ~short)]
    assert [members.mean() * 100 for members in bins] == pytest.approx(
        [63.5, 12.5, 16.5, 7.5], abs=1.0
    )
    assert 2 <= minutes.min() < 2.2
    assert 100 < minutes.max() <= 120
    assert np.diff(jobs.submit_us).mean() / 1e6 == pytest.approx(30, rel=0.15)


def test_the_bytes_depend_only_on_the_seed() -> None:
    assert motet_csv(drawn(7)) == motet_csv(drawn(7))
    assert motet_csv(drawn(7)) != motet_csv(drawn(8))


def test_the_arrival_process_does_not_change_sizes_and_durations() -> None:
    one, other = drawn(), drawn(arrivals=parse_arrivals("every:5"))

    assert np.array_equal(one.gpus, other.gpus)
    assert np.array_equal(one.duration_us, other.duration_us)
    assert set(np.diff(other.submit_us).tolist()) == {5_000_000}


@pytest.mark.parametrize(
    ("text", "variation"),
    others_in_soak(
        [("poisson:20", 1.0), ("bursty:20", 4.0), ("bursty:20,8", 8.0)],
        [("poisson:20", 1.0), ("bursty:20,8", 8.0)],
    ),
)
def test_gaps_have_the_requested_mean_and_variation(text: str, variation: float) -> None:
    gaps_s = np.diff(drawn(jobs=200_000, arrivals=parse_arrivals(text)).submit_us) / 1e6

    assert gaps_s.mean() == pytest.approx(20, rel=0.1)
    assert gaps_s.std() / gaps_s.mean() == pytest.approx(variation, rel=0.1)


def test_demands_go_with_gpus_and_leave_the_rest_as_it_was() -> None:
    jobs, plain = drawn(demands=parse_demands("per-gpu:2,8,4,64")), drawn()
    cpus, gigabytes = jobs.cpus / jobs.gpus, jobs.memory_bytes / jobs.gpus / 1e9

    assert (cpus.min(), cpus.max(), gigabytes.min(), gigabytes.max()) == (2, 8, 4, 64)
    assert np.median(gigabytes) == pytest.approx(16, abs=3)
    assert np.array_equal(cpus, np.rint(cpus))
    for name in ("gpus", "submit_us", "duration_us", "model"):
        assert np.array_equal(getattr(jobs, name), getattr(plain, name))
    assert not plain.cpus.any()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("4,8", "write per-gpu:CPUS,CPUS,GB,GB"),
        ("per-gpu:4,8", "2 numbers"),
        ("per-gpu:8,4,1,2", "8 is above 4; swap them"),
        ("per-gpu:1,4,0,2", "must be above 0"),
    ],
)
def test_demands_that_cannot_be_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_demands(text)


def test_short_durations_are_log_uniform() -> None:
    logs = np.log(drawn(jobs=50_000, durations=parse_durations("loguniform:10,1000")).duration_us)
    share = (logs - np.log(10e6)) / np.log(100)

    assert np.quantile(share, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.02)


def test_every_size_and_every_part_of_a_bin_has_its_share() -> None:
    jobs = drawn(3)
    seconds = jobs.duration_us / 1e6
    for size, long_jobs in ((1, 39), (4, 13), (8, 28), (16, 8), (32, 2)):
        long_s = seconds[(jobs.gpus == size) & (seconds >= 800)]
        assert len(long_s) == long_jobs
        nth = np.log(np.sort(long_s) / 800) / np.log(9) * long_jobs
        assert np.floor(nth + 1e-3).astype(int).tolist() == list(range(long_jobs))


def test_lognormal_durations_have_their_median_and_deviation() -> None:
    logs = np.log(drawn(jobs=50_000, durations=parse_durations("lognormal:600,1.5")).duration_us)

    assert np.exp(np.median(logs)) / 1e6 == pytest.approx(600, rel=0.03)
    assert logs.std() == pytest.approx(1.5, rel=0.03)


def test_durations_are_drawn_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("duration\r\n12\r\n0.5\r\n")
    jobs = drawn(jobs=50, durations=parse_durations(f"empirical:{path}"))
    service = drawn(jobs=50, mix=parse_mix("4:1"), durations=parse_durations(f"service:{path}"))

    assert set(jobs.duration_us.tolist()) == {12_000_000, 500_000}
    assert set(service.duration_us.tolist()) == {3_000_000, 125_000}


def test_durations_are_drawn_from_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(motet_csv(Workload.of(["a"], [0], [7_000_000], [1])))

    assert set(drawn(durations=parse_durations(f"empirical:{path}")).duration_us) == {7_000_000}


def test_sizes_keep_their_shares_for_any_number_of_jobs() -> None:
    jobs = drawn(jobs=7, mix=parse_mix("1:80,8:20"))

    assert Counter(jobs.gpus.tolist()) == {1: 6, 8: 1}
    assert whole_shares(10, (1, 1, 1)).tolist() == [4, 3, 3]


def test_one_job_can_be_generated() -> None:
    assert drawn(jobs=1).submit_us.tolist() == [0]


@pytest.mark.parametrize(
    ("parse", "text", "problem"),
    [
        (parse_arrivals, "posson:3", "did you mean 'poisson'"),
        (parse_arrivals, "poisson", "0 numbers; write poisson:MEAN_S"),
        (parse_arrivals, "poisson:-3", "-3 must be above 0"),
        (parse_arrivals, "bursty:3,4,5", "3 numbers; write bursty:MEAN_S,CV"),
        (parse_arrivals, "every:x", "'x' is not a number; write every:S"),
        (parse_durations, "lognormal:600", "1 numbers; write lognormal:MEDIAN_S,SIGMA"),
        (parse_durations, "loguniform:9,3", "9 is above 3; swap them"),
        (parse_durations, "empirical", "no file; write empirical:FILE"),
        (parse_durations, "bin", "did you mean 'bins'"),
        (parse_durations, "empirical:none.csv", "no such file"),
        (parse_mix, "tiresias", "did you mean 'tiresias-480'"),
        (parse_mix, "1:x", "'1:x' is not a size; write GPUS:WEIGHT"),
        (parse_mix, "0:5", "'0:5' is not within 1 to 1,000,000"),
    ],
)
def test_an_invalid_recipe_is_refused(parse: object, text: str, problem: str) -> None:
    assert callable(parse)
    with pytest.raises(BadInput, match=problem):
        parse(text)


@pytest.mark.parametrize("jobs", [0, -1, 10**9])
def test_an_invalid_number_of_jobs_is_refused(jobs: int) -> None:
    with pytest.raises(BadInput, match=r"--jobs .* must be within 1 to 10,000,000"):
        drawn(jobs=jobs)


def test_times_beyond_the_clock_are_refused() -> None:
    with pytest.raises(BadInput, match=r"--arrivals: a time exceeds"):
        drawn(jobs=10, arrivals=parse_arrivals("every:1e9"))


def test_non_numeric_samples_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    path.write_text("1\n2\nx\n")

    with pytest.raises(BadInput, match=r"samples:3: 'x', which is not a number"):
        parse_durations(f"empirical:{path}")
