"""Groups whose jobs end together (`even_ends`) beside groups by use alone, in simulations.

The base workload and arrivals of `harmony_simulation.py`. How many times as long jobs take without
it (above 1: it wins), with Student's 95 % interval of the mean over seeds.
"""

from __future__ import annotations

from support.figures import Figure, parser, report
from support.harmony_page import BASE, DISK, SCENES
from support.harmony_runs import Grouper, GroupRun, GroupScene, ratio_figures

SEEDS, PARTS = 5, (0.02, 0.05)
ARRIVALS = next(scene for scene in SCENES if scene.name == "arrivals")
RATIOS = {"jct_s": "JCT", "makespan_s": "makespan", "restarting": "time in restarts"}


def ratios(scene: GroupScene, seeds: int) -> list[Figure]:
    """Of one workload."""
    without = [GroupRun(scene, Grouper("", (DISK,)), seed).figures() for seed in range(seeds)]
    figures = []
    for part in PARTS:
        settings = DISK, f"even_ends={part}"
        evened = [GroupRun(scene, Grouper("", settings), n).figures() for n in range(seeds)]
        figures += ratio_figures(f"{scene.name}, even_ends={part}", RATIOS, without, evened)
    return figures


def main() -> None:
    """Both workloads."""
    seeds = 2 if parser(__doc__.splitlines()[0]).parse_args().quick else SEEDS
    figures = [figure for scene in (BASE, ARRIVALS) for figure in ratios(scene, seeds)]
    report("harmony_ends", "Harmony: groups that end together", figures, plot=False)


if __name__ == "__main__":
    main()
