"""The tables of simulations in Harmony's page, beside the paper's figures."""

from __future__ import annotations

from pathlib import Path

from motet.report.simulation.group_estimates import Estimate
from support.contests import plus_minus
from support.harmony_runs import Grouper, GroupRun, GroupScene, figures_in, measure_runs
from support.hosts import ROOT
from support.pages import put_into, table

PAGE = ROOT / "docs" / "systems" / "harmony.md"
SCRIPT = "harmony_simulation.py"
DISK = "disk_mb_rate=800"
BASE = GroupScene("base", "harmony-80")
SCENES = {
    BASE: ("2.11", "1.60"),
    GroupScene("computation-heavy", "harmony-60-comp"): ("2.31", "1.58"),
    GroupScene("communication-heavy", "harmony-60-comm"): ("1.83", "1.57"),
    GroupScene("arrivals", "harmony-80", "bursty:240,4"): ("2.02", "1.57"),
    GroupScene("one every 4 min", "harmony-80", "poisson:240"): ("", ""),
    GroupScene("one every 8 min", "harmony-80", "poisson:480"): ("", ""),
}
"""With the paper's ratios of JCT and makespan."""
HARMONY = Grouper("harmony", (DISK,))
ISOLATED = Grouper("isolated", ("grouping=isolated", "reloading=false"))
NAIVE_GROUPS = (3, 5, 8)
NAIVE = {
    count: Grouper(
        f"naive, {count} groups", ("grouping=naive", "reloading=false", f"naive_groups={count}")
    )
    for count in NAIVE_GROUPS
}
PAPER_NAIVE = "1.27 (1.11)", "1.15 (1.09)"
VARIANTS = {
    Grouper("without reloading", ("reloading=false",)): ("1.72", "1.35"),
    Grouper("compared by use (eq. 4.4)", (DISK, "objective=use")): ("", ""),
    Grouper("Algorithms 1 and 2", (DISK, "search=paper")): ("", ""),
}
ERRORS = (0.05, 0.075, 0.15)


def _with_error(error: float) -> Grouper:
    return Grouper(f"{100 * error:g} %", (DISK, f"model_error={error}"))


def _seeds(scene: GroupScene, seeds: int) -> range:
    return range(2 * seeds if scene.name == "arrivals" else seeds)


def measure(folder: Path, seeds: int, *, again: bool) -> None:
    """All simulations, the base workload first."""
    pairs = [(scene, each) for scene in SCENES for each in (ISOLATED, HARMONY)]
    pairs += [(BASE, each) for each in (*NAIVE.values(), *VARIANTS)]
    pairs += [(BASE, _with_error(error)) for error in ERRORS]
    runs = [
        GroupRun(scene, grouper, seed) for scene, grouper in pairs for seed in _seeds(scene, seeds)
    ]
    measure_runs(runs, folder, again=again)


class Measured:
    """The figures in a folder."""

    def __init__(self, folder: Path, seeds: int) -> None:
        self._folder, self._seeds = folder, seeds

    def values(self, scene: GroupScene, grouper: Grouper, name: str) -> list[float]:
        """By seed."""
        runs = (GroupRun(scene, grouper, seed) for seed in _seeds(scene, self._seeds))
        return [figures[name] for figures in figures_in(self._folder, runs)]

    def gain(self, scene: GroupScene, grouper: Grouper, name: str) -> Estimate:
        """How many times as long under `isolated`."""
        alone = self.values(scene, ISOLATED, name)
        pairs = zip(alone, self.values(scene, grouper, name), strict=True)
        return Estimate.of([one / other for one, other in pairs])

    def mean(self, scene: GroupScene, grouper: Grouper, name: str, digits: int = 1) -> str:
        """Over seeds."""
        return plus_minus(Estimate.of(self.values(scene, grouper, name)), digits)

    def gains(self, scene: GroupScene, grouper: Grouper) -> list[str]:
        """JCT and makespan."""
        return [plus_minus(self.gain(scene, grouper, name)) for name in ("jct_s", "makespan_s")]


def write(folder: Path, seeds: int) -> None:
    """The section of the page."""
    found = Measured(folder, seeds)
    parts = [
        f"""## Evidence by simulation

`python benchmarks/harmony_simulation.py` (in `make evidence`): `harmony-80` and its parts on 100
machines of 32 GB, {seeds} seeds ({2 * seeds} for arrivals) with Student's 95 % interval of the
mean. Ratios are how many times as long jobs take under `isolated`; above 1 Harmony is faster.
`{DISK}`, a restart takes 60 s.""",
        _scene_table(found),
        """Baselines and parts of Harmony, on the base workload. `naive` takes turns by subtasks,
which is a step of its own in the paper; in brackets: without.""",
        _variant_table(found),
        """Measured COMP and COMM times that are each too long or too short by the error
(`model_error`), on the base workload. The paper keeps over 90 % of the speed-up below 7.5 %.""",
        _error_table(found),
    ]
    put_into(PAGE, "\n\n".join(parts), SCRIPT, "## Where it departs from its source")
    print(f"written: {PAGE}")


def _scene_table(found: Measured) -> str:
    head = ["workload", "JCT", "makespan", "paper: JCT", "makespan", "CPU", "isolated", "network"]
    head += ["jobs at a time", "groups", "restarts"]
    rows = []
    for scene, paper in SCENES.items():
        parts = [
            _percent(found.values(scene, grouper, name))
            for grouper, name in ((HARMONY, "cpu"), (ISOLATED, "cpu"), (HARMONY, "network"))
        ]
        counts = [found.mean(scene, HARMONY, name) for name in ("jobs", "groups")]
        restarts = _percent(found.values(scene, HARMONY, "restarting"))
        rows.append([scene.name, *found.gains(scene, HARMONY), *paper, *parts, *counts, restarts])
    return table(head, rows)


def _variant_table(found: Measured) -> str:
    rows = []
    naive = {count: found.gain(BASE, one, "makespan_s").mean for count, one in NAIVE.items()}
    for count, one in NAIVE.items():
        note = {max(naive, key=naive.__getitem__): " (best)"}
        note[min(naive, key=naive.__getitem__)] = " (worst)"
        rows.append([one.name + note.get(count, ""), *found.gains(BASE, one), *PAPER_NAIVE])
    rows += [[one.name, *found.gains(BASE, one), *paper] for one, paper in VARIANTS.items()]
    rows.append(["harmony", *found.gains(BASE, HARMONY), *SCENES[BASE]])
    return table(["", "JCT", "makespan", "paper: JCT", "makespan"], rows)


def _error_table(found: Measured) -> str:
    whole = [found.gain(BASE, HARMONY, name).mean for name in ("jct_s", "makespan_s")]
    rows = [["0 %", *found.gains(BASE, HARMONY), "100 %"]]
    for error in ERRORS:
        gains = [found.gain(BASE, _with_error(error), name) for name in ("jct_s", "makespan_s")]
        kept = gains[1].mean / whole[1]
        rows.append([f"{100 * error:g} %", *map(plus_minus, gains), f"{100 * kept:.0f} %"])
    return table(["error", "JCT", "makespan", "of the makespan's ratio"], rows)


def _percent(values: list[float]) -> str:
    estimate = Estimate.of([100 * value for value in values])
    return f"{plus_minus(estimate, 1)} %"
