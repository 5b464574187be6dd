"""Asynchronous training where groups have gaps (`async_efficiency`) beside synchronous training, in
simulations.

The base workload and arrivals of `harmony_simulation.py`, few jobs, and fewer machines; all users
permit it. How many times as long jobs take without it (above 1: it wins),
with Student's 95 % interval of the mean over seeds. The last rows: the policy counts on more
progress per iteration than jobs make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from support.figures import RESULTS, Figure, parser, report
from support.harmony_page import BASE, DISK, SCENES
from support.harmony_runs import (
    Grouper,
    GroupRun,
    GroupScene,
    figures_in,
    measure_runs,
    ratio_figures,
)

SEEDS = 5
EFFICIENCIES = ((0.95, 0.95), (1.0, 1.0), (0.9, 0.9), (1.0, 0.9))
"""What the policy counts on, and what is true."""
LISTED = {scene.name: scene for scene in SCENES}
ALL_SCENES = (
    replace(BASE, name="4 jobs on 100 machines", jobs=4),
    replace(BASE, name="8 jobs on 100 machines", jobs=8),
    replace(BASE, name="16 jobs on 50 machines", jobs=16, machines=50),
    replace(LISTED["arrivals"], name="16 jobs that arrive on 50 machines", jobs=16, machines=50),
    replace(BASE, name="32 jobs on 40 machines", jobs=32, machines=40),
    BASE,
    LISTED["arrivals"],
)
RATIOS = {"jct_s": "JCT", "makespan_s": "makespan"}
_WITHOUT = Grouper("", (DISK,))


def runs_of(scene: GroupScene, counted: float, true: float, seeds: int) -> list[GroupRun]:
    """With it; files are named by the scene and the settings."""
    known = replace(scene, name=f"{scene.name}, {true:g}", async_efficiency=true)
    with_it = Grouper("", (DISK, f"async_efficiency={counted:g}"))
    return [GroupRun(known, with_it, seed) for seed in range(seeds)]


def without(scene: GroupScene, seeds: int) -> list[GroupRun]:
    """The same jobs, none of which is asynchronous."""
    return [GroupRun(scene, _WITHOUT, seed) for seed in range(seeds)]


def ratios(scenes: Sequence[GroupScene], seeds: int) -> list[Figure]:
    """Of runs that have been made."""
    folder, figures = RESULTS / "harmony_async", []
    for scene in scenes:
        before = figures_in(folder, without(scene, seeds))
        for counted, true in EFFICIENCIES:
            after = figures_in(folder, runs_of(scene, counted, true, seeds))
            told = f"{true:g}" if counted == true else f"{true:g}, the policy counts on {counted:g}"
            figures += ratio_figures(f"{scene.name}: {told}", RATIOS, before, after)
    return figures


def main() -> None:
    """All scenes. Runs that were made before are not repeated."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    seeds, scenes = (2, ALL_SCENES[:1]) if arguments.quick else (SEEDS, ALL_SCENES)
    runs = [run for scene in scenes for run in without(scene, seeds)]
    for counted, true in EFFICIENCIES:
        runs += [run for scene in scenes for run in runs_of(scene, counted, true, seeds)]
    measure_runs(runs, RESULTS / "harmony_async", again=False)
    report("harmony_async", "Harmony: asynchronous jobs", ratios(scenes, seeds), plot=False)


if __name__ == "__main__":
    main()
