"""Claims about schedulers, from simulations: those of the pages, and two more workloads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from motet.report.simulation.group_estimates import Estimate
from motet.sim.generate.demands import parse_demands
from motet.sim.generate.workload import Recipe
from support import harmony_page, optimus_slots, slaq_page, themis_page
from support.claims import Claim, less, times
from support.contests import Contender, Contest, Results, Scene, plus_minus
from support.harmony_page import Measured
from support.harmony_runs import GroupRun

FREE = ("preemption_cost=0",)
TIRESIAS = Scene("tiresias-480", "15x4", FREE)
TETRIS = Scene(
    "tiresias-480-demands",
    "tetris-machines",
    FREE,
    Recipe(demands=parse_demands("per-gpu:1,8,4,64")),
)
TIRESIAS_POLICIES = tuple(map(Contender.plain, ("yarn-cs", "srtf", "tiresias-las")))
TETRIS_POLICIES = tuple(map(Contender.plain, ("drf", "tetris")))
SLAQ_COMMAND = "python benchmarks/schedulers.py --only slaq"
OPTIMUS_COMMAND = "python benchmarks/schedulers.py --only optimus"
THEMIS_COMMAND = "python benchmarks/schedulers.py --only themis"
TABLE_COMMAND = "python benchmarks/evidence_table.py"


HARMONY = (harmony_page.ISOLATED, harmony_page.HARMONY)


def contests(seeds: Sequence[int]) -> list[Contest]:
    """Those of the claims, in this order; most are among those of the pages."""
    themis = [Contender.plain("themis"), *map(Contender.plain, themis_page.RIVALS)]
    return [
        Contest(slaq_page.FITTED, slaq_page.CONTENDERS, seeds),
        optimus_slots.contests(seeds)[optimus_slots.USUAL],
        Contest(themis_page.SCENES[0], themis, seeds),
        Contest(TIRESIAS, TIRESIAS_POLICIES, seeds),
        Contest(TETRIS, TETRIS_POLICIES, seeds),
    ]


def harmony_runs(seeds: int) -> list[GroupRun]:
    """On the base workload."""
    pairs = product(HARMONY, range(seeds))
    return [GroupRun(harmony_page.BASE, grouper, seed) for grouper, seed in pairs]


def simulated_claims(found: Sequence[Results], harmony: Measured) -> dict[str, Sequence[Claim]]:
    """By system. `found`: of the contests, in their order."""
    slaq, optimus, themis, tiresias, tetris = found
    return {
        "[SLAQ](systems/slaq.md)": _slaq(slaq),
        "[Optimus](systems/optimus.md)": _optimus(optimus),
        "[Themis](systems/themis.md)": _themis(themis),
        "[Tiresias](systems/tiresias.md)": _tiresias(tiresias),
        "[Tetris](systems/tetris.md)": _tetris(tetris),
        "[Harmony](systems/harmony.md)": _harmony(harmony),
    }


def _slaq(fitted: Results) -> list[Claim]:
    to_90, to_95 = (
        fitted.ratio("slaq", "fair", "quality", key) for key in ("time_to_90_s", "time_to_95_s")
    )
    windows = [slaq_page.window_ratios(fitted, start * slaq_page.WINDOW_S) for start in range(3)]
    whole = fitted.ratio("slaq", "fair", "quality", "average_normalised_loss")
    return [
        Claim(
            "average loss of active jobs 73 % less than under fair shares, in 800 s of a run",
            f"{', '.join(map(less, windows))} in each 800 s, {less(whole)} in the whole run",
            SLAQ_COMMAND,
            "The gap grows because nearly converged jobs stay longer under SLAQ; the paper does "
            f"not say which 800 s it shows, and {_last_window(windows[-1])}.",
        ),
        Claim(
            "90 % and 95 % of a job's reduction in 45 % and 30 % less time",
            f"{less(to_90)} and {less(to_95)}",
            SLAQ_COMMAND,
            "No difference within the intervals. Load, tail and serial fraction of our jobs are "
            "fitted to the paper's times under fair shares.",
        ),
    ]


def _last_window(ratio: Estimate) -> str:
    """Beside the paper's figure."""
    is_inside = abs(ratio.mean - slaq_page.PAPER_LOSS) <= (ratio.half_width or 0.0)
    return f"the interval of our last 800 s {'contains' if is_inside else 'is near'} its figure"


def _optimus(usual: Results) -> list[Claim]:
    static, refilled = optimus_slots.RIVALS[0].label, optimus_slots.RIVALS[2].label
    jct = [times(usual.ratio(one, "optimus", "jct_s", "mean")) for one in (static, refilled)]
    makespan = [times(usual.ratio(one, "optimus", "makespan_s")) for one in (static, refilled)]
    parts = [optimus_slots.growth(usual, one) for one in optimus_slots.WITHOUT]
    return [
        Claim(
            "JCT 2.4 times better than DRF",
            f"DRF with pairs that are kept takes {jct[0]} as long, `drf` {jct[1]}",
            OPTIMUS_COMMAND,
            "The load of the slots and the computing speed of workers are our choice; the ratio is "
            "smaller against a scheduler that leaves fewer slots idle.",
        ),
        Claim(
            "makespan 1.6 times better than DRF",
            f"DRF with pairs that are kept takes {makespan[0]} as long, `drf` {makespan[1]}",
            OPTIMUS_COMMAND,
            "With pairs that are kept the makespan depends on the last long job and differs "
            "between seeds; a scheduler that refills slots gives that job all free ones.",
        ),
        Claim(
            "allocation, placement and load balance contribute 62, 17 and 20 %",
            f"{parts[0]}, {parts[3]} and {parts[4]}",
            OPTIMUS_COMMAND,
            "If pairs are kept to the end, allocation agrees within the wide interval and "
            "placement nearly does. Load balance contributes less: requests to servers are free "
            "in the simulation.",
        ),
    ]


def _themis(found: Results) -> list[Claim]:
    keys = ("finish_time_fairness", "max")
    others = {name: found.mean(name, *keys) for name in themis_page.RIVALS}
    nearest = min(others, key=lambda name: others[name].mean)
    return [
        Claim(
            "largest rho close to 1, lower than under Tiresias, Gandiva, SLAQ and Optimus",
            f"{plus_minus(found.mean('themis', *keys))}; the next best is `{nearest}`, "
            f"{plus_minus(others[nearest])}",
            THEMIS_COMMAND,
            "Our workload is drawn searches on 64 GPUs, and policies know true remaining times, "
            "which the paper's agents estimate.",
        )
    ]


def _tiresias(found: Results) -> list[Claim]:
    pair = ("yarn-cs", "tiresias-las")
    mean, median = (times(found.ratio(*pair, "jct_s", key)) for key in ("mean", "median"))
    return [
        Claim(
            "JCT 5.5 times better than YARN-CS on average, 27 times in the median, on a testbed",
            f"{mean} on average, {median} in the median",
            TABLE_COMMAND,
            "Run times within the published bins are our choice, and add up to a quarter more "
            "work: large, long jobs, which wait under every policy, weigh more in the average.",
        ),
        Claim(
            "makespan 1.21 times better",
            times(found.ratio(*pair, "makespan_s")),
            TABLE_COMMAND,
            "The last large job ends late under every policy.",
        ),
        Claim(
            "average JCT as under SRTF, which knows run times (on a production trace)",
            f"SRTF's is {less(found.ratio('srtf', 'tiresias-las', 'jct_s', 'mean'))}",
            TABLE_COMMAND,
            "An oracle gains more where long jobs weigh more, as above.",
        ),
    ]


def _tetris(found: Results) -> list[Claim]:
    jct, makespan = (
        found.ratio("tetris", "drf", *keys) for keys in (("jct_s", "mean"), ("makespan_s",))
    )
    return [
        Claim(
            "average completion time and makespan over 30 % less than under fair schedulers",
            f"{less(jct)} and {less(makespan)} than under `drf`",
            TABLE_COMMAND,
            "`drf` serves the oldest first here, because whole gangs cannot share; the paper's "
            "tasks are small, and it estimates their durations, which we know.",
        )
    ]


def _harmony(found: Measured) -> list[Claim]:
    jct, makespan = (
        found.gain(harmony_page.BASE, harmony_page.HARMONY, name)
        for name in ("jct_s", "makespan_s")
    )
    return [
        Claim(
            "JCT 2.11 times better than isolated, 80 jobs on 100 machines",
            times(jct),
            "python benchmarks/harmony_simulation.py",
            "Under `isolated` jobs whose data fit on one machine overtake the others, which "
            "shortens the average; the paper does not state its order.",
        ),
        Claim(
            "makespan 1.60 times better than isolated",
            times(makespan),
            "python benchmarks/harmony_simulation.py",
            "No independent confirmation: the workload and the rate of disks were chosen with "
            "these ratios in view.",
        ),
    ]
