"""Gantt charts: where bars lie, which part of a run is drawn, and when a map takes their place."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import PolyCollection

from motet.domain.cluster import ClusterSpec
from motet.interfaces.simulation_runs import Scenario, run_one
from motet.report.cluster_run.placements import NO_PARTNER, Placements, held_until
from motet.report.figures.gantt import MOST_BARS, gantt_figure
from motet.report.figures.gantt_lanes import gantt_lanes
from motet.report.figures.gantt_sheet import MOST_MACHINES
from motet.sim.experiment import Experiment
from motet.sim.generate.named import draw as draw_workload
from motet.sim.generate.named import parse_recipe

Hold = tuple[int, int, int, float, float, int]
"""Job, machine, GPUs, start, end, partner."""


def placements(*holds: Hold, sizes: list[int] | None = None) -> Placements:
    columns: Any = list(zip(*holds, strict=True)) or [()] * 6
    job, machine, gpus, start, end, partner = map(np.array, columns)
    counts = np.array(sizes or [4, 4])
    return Placements(
        machine_names=tuple(f"m{number}" for number in range(len(counts))),
        machine_gpus=counts,
        job=job.astype(int),
        machine=machine.astype(int),
        gpus=gpus.astype(int),
        start_s=start.astype(float),
        end_s=end.astype(float),
        partner=partner.astype(int),
        sharers=1 + (partner.astype(int) != NO_PARTNER),
        job_gpus=gpus.astype(int),
    )


def many(count: int, machines: int = 2) -> Placements:
    """Jobs of a GPU and a second each, one after the other on every machine."""
    holds = [(n, n % machines, 1, float(n), n + 1.0, NO_PARTNER) for n in range(count)]
    return placements(*holds, sizes=[4] * machines)


def test_jobs_lie_on_the_first_lanes_that_are_free() -> None:
    found = gantt_lanes(
        placements(
            (0, 0, 2, 0, 10, NO_PARTNER),
            (1, 0, 1, 0, 5, NO_PARTNER),
            (2, 1, 4, 0, 9, NO_PARTNER),
            (3, 0, 1, 6, 10, NO_PARTNER),
        )
    )

    assert found == [(0, 1), (2,), (0, 1, 2, 3), (2,)]


def test_side_by_side_goes_before_first() -> None:
    found = gantt_lanes(
        placements(
            (0, 0, 1, 0, 5, NO_PARTNER),
            (1, 0, 1, 0, 10, NO_PARTNER),
            (2, 0, 2, 6, 9, NO_PARTNER),
            (3, 0, 1, 7, 9, NO_PARTNER),
        )
    )

    assert found == [(0,), (1,), (2, 3), (0,)]


def test_a_job_that_goes_on_keeps_its_lanes() -> None:
    found = gantt_lanes(
        placements(
            (0, 0, 2, 0, 5, NO_PARTNER),
            (7, 0, 2, 0, 5, NO_PARTNER),
            (1, 0, 2, 5, 9, NO_PARTNER),
            (7, 0, 2, 5, 9, NO_PARTNER),
        )
    )

    assert found == [(0, 1), (2, 3), (0, 1), (2, 3)]


@st.composite
def histories(draw: st.DrawFn) -> Placements:
    """On a machine of 8 GPUs: who holds how many at every second, in pairs or alone."""
    holds: list[Hold] = []
    since: dict[int, tuple[int, int, int]] = {}
    for second in range(draw(st.integers(2, 8))):
        now: dict[int, tuple[int, int]] = {}
        jobs, left = draw(st.permutations(range(6))), 8
        while jobs and left and draw(st.booleans()):
            job, gpus = jobs.pop(), draw(st.integers(1, left))
            partner = jobs.pop() if jobs and draw(st.integers(0, 3)) == 0 else NO_PARTNER
            now[job] = gpus, partner
            if partner != NO_PARTNER:
                now[partner] = gpus, job
            left -= gpus
        for job, (start, gpus, partner) in list(since.items()):
            if now.get(job) != (gpus, partner):
                holds.append((job, 0, gpus, start, second, partner))
                del since[job]
        for job, (gpus, partner) in now.items():
            since.setdefault(job, (second, gpus, partner))
    holds += [(job, 0, gpus, at, 9, partner) for job, (at, gpus, partner) in since.items()]
    return placements(*sorted(holds, key=lambda hold: (hold[3], hold[0])), sizes=[8])


def assert_every_gpu_is_drawn_once(rows: Placements) -> None:
    """Each row has as many lanes as GPUs, and no two rows share one but those that share GPUs."""
    found = gantt_lanes(rows)
    assert [len(set(each)) for each in found] == rows.gpus.tolist()
    for row, mine in enumerate(found):
        at_s = rows.start_s[row]
        there = (rows.machine == rows.machine[row]) & (rows.start_s <= at_s) & (at_s < rows.end_s)
        assert max(mine) < rows.machine_gpus[rows.machine[row]]
        for other in np.flatnonzero(there).tolist():
            if other == row:
                continue
            if rows.partner[row] == rows.job[other]:
                assert found[other] == mine
            else:
                assert not set(found[other]) & set(mine)


@given(histories())
def test_every_gpu_is_drawn_once_whoever_shares_shrinks_and_grows(history: Placements) -> None:
    assert_every_gpu_is_drawn_once(history)


def test_a_job_that_shrinks_leaves_lanes_to_others() -> None:
    found = gantt_lanes(
        placements(
            (0, 0, 4, 0, 5, NO_PARTNER),
            (0, 0, 2, 5, 9, NO_PARTNER),
            (1, 0, 2, 5, 9, NO_PARTNER),
        )
    )

    assert found == [(0, 1, 2, 3), (0, 1), (2, 3)]


def test_a_job_that_grows_takes_the_lanes_beside_its_own() -> None:
    found = gantt_lanes(
        placements(
            (0, 0, 1, 0, 5, NO_PARTNER),
            (1, 0, 1, 0, 9, NO_PARTNER),
            (2, 0, 1, 0, 5, NO_PARTNER),
            (2, 0, 2, 5, 9, NO_PARTNER),
            (0, 0, 1, 5, 9, NO_PARTNER),
        )
    )

    assert found == [(0,), (1,), (2,), (2, 3), (0,)]


@pytest.mark.parametrize("policy", ["fair", "gandiva", "tiresias-las"])
def test_every_gpu_of_a_simulation_is_drawn_once(policy: str) -> None:
    mix = "slaq-160" if policy == "fair" else "tiresias-480"
    workload = draw_workload(parse_recipe(mix, 40, "every:5", None), np.random.default_rng(1))
    scenario = Scenario(workload, "0" * 64, ClusterSpec.uniform(6, 16))

    rows = run_one(Experiment(policy), scenario).placements

    assert len(rows) > 60
    assert_every_gpu_is_drawn_once(rows)


def test_two_that_share_lie_on_the_same_lanes_each_on_half_of_them() -> None:
    pair = placements((0, 0, 2, 0, 5, 1), (1, 0, 2, 0, 5, 0), (2, 0, 2, 0, 5, NO_PARTNER))
    (axes,) = gantt_figure("gandiva", pair).axes
    (bars,) = (c for c in axes.collections if isinstance(c, PolyCollection))
    heights = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]

    assert gantt_lanes(pair) == [(0, 1), (0, 1), (2, 3)]
    assert heights[0] == pytest.approx(heights[2] / 2)
    assert bars.get_paths()[0].vertices[:, 1].max() == pytest.approx(
        bars.get_paths()[1].vertices[:, 1].min()
    )


def test_three_that_share_have_a_third_of_the_lanes_each() -> None:
    three = placements((4, 0, 3, 0, 5, 6), (6, 0, 3, 0, 5, 4), (9, 0, 3, 0, 5, 4), sizes=[4])
    three = replace(three, sharers=np.array([3, 3, 3]))
    (axes,) = gantt_figure("own", three).axes
    (bars,) = (c for c in axes.collections if isinstance(c, PolyCollection))
    edges = [path.vertices[:, 1] for path in bars.get_paths()]

    assert gantt_lanes(three) == [(0, 1, 2)] * 3
    assert three.taken_gpus.tolist() == [1, 1, 1]
    for lower, upper in itertools.pairwise(edges):
        assert lower.max() == pytest.approx(upper.min())


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(1, 3)), min_size=1))
def test_gpu_seconds_until_a_time(steps: list[tuple[int, int, int]]) -> None:
    holds = [(n, 0, gpus, s, s + d, NO_PARTNER) for n, (s, d, gpus) in enumerate(steps)]
    times = np.array([0.0, 3.5, 11, 40])
    expected = [
        sum(gpus * (min(s + d, now) - min(s, now)) for s, d, gpus in steps) for now in times
    ]

    np.testing.assert_allclose(held_until(placements(*holds), times), expected)


def subtitle(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.axes[0].texts)


def test_a_run_with_few_bars_is_drawn_whole() -> None:
    figure = gantt_figure("fifo", many(100))

    assert figure.axes[0].get_xlim() == (0, 100)
    assert "busiest" not in subtitle(figure)


def test_of_a_run_with_many_bars_the_busiest_part_is_drawn() -> None:
    run = many(3 * MOST_BARS)
    crowd = placements(
        *((10**6 + n, 1, 1, 6000.0, 7000.0, NO_PARTNER) for n in range(2)), sizes=[4, 4]
    )
    both = replace(
        run,
        **{
            name: np.concatenate([getattr(run, name), getattr(crowd, name)])
            for name in (
                "job",
                "machine",
                "gpus",
                "start_s",
                "end_s",
                "partner",
                "sharers",
                "job_gpus",
            )
        },
    )
    figure = gantt_figure("fifo", both)
    low, high = figure.axes[0].get_xlim()

    assert high - low == 3 * MOST_BARS / 4
    assert low <= 6000 < 7000 <= high
    assert "only the busiest time, hours 1.5" in subtitle(figure)


@pytest.mark.parametrize(
    ("bars", "machines"),
    [pytest.param(100 * MOST_BARS, 2, marks=pytest.mark.soak), (500, MOST_MACHINES + 1)],
)
def test_where_bars_are_hopeless_a_map_shows_the_use_of_every_machine(
    bars: int, machines: int
) -> None:
    run = many(bars, machines)
    figure = gantt_figure("fifo", run)
    (image,) = figure.axes[0].images

    assert image.get_array().shape[0] == len(run.machine_names)
    assert "too many jobs or machines" in subtitle(figure)


def test_a_map_of_many_machines_averages_neighbours() -> None:
    run = replace(many(700, 700), start_s=np.zeros(700), end_s=np.ones(700))
    (image,) = gantt_figure("fifo", run).axes[0].images

    assert image.get_array().shape[0] == 234
    np.testing.assert_allclose(image.get_array(), 0.25)


@pytest.mark.parametrize("sizes", [[4], [4] * 100], ids=["bars", "map"])
def test_a_run_in_which_nothing_ran_can_be_drawn(sizes: list[int]) -> None:
    gantt_figure("lazy", placements(sizes=sizes)).canvas.draw()
