"""What each schedule of Harmony's benchmark gave: a file per schedule, figures and a plot of all.

A schedule is written as soon as it has ended, so what ran before a cut is not lost, and schedules
may run one after the other in commands of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from support.figures import Figure
from support.schedule_ledger import ledger, steps_in, training_s
from support.schedule_stays import StayTimes, read_stays

ISOLATED, PROFILES = "isolated", "profiles.json"
RELOADING, SECTIONS = "reloading", "sections"
"""`sections`: isolated jobs whose input is in memory, in sections of the size of those on disk.
They add floating-point numbers in the order in which jobs do that have input on disk."""
PAPER = {
    "naive": (1.11, 1.09),
    "subtasks": (1.27, 1.15),
    "grouping": (1.72, 1.35),
    "reloading": (2.11, 1.60),
}
"""JCT and makespan as times of `isolated` (W.-Y. Lee 2020, sections 4.4.2 and 4.4.3)."""
MOST_REGROUPING, MOST_SIMULATION_ERROR, MOST_LOSS_DIFFERENCE = 0.02, 0.10, 1e-6


@dataclass(frozen=True)
class Profile:
    """Of one job alone on a pair, per mini-batch. `per_epoch`: mini-batches; `memory_bytes`: the
    most on one of its hosts."""

    name: str
    comp_s: float
    comm_s: float
    outside_s: float
    gap_s: float
    period_s: float
    per_epoch: int
    memory_bytes: int


@dataclass(frozen=True)
class Prediction:
    """Of the simulator's model."""

    jct_s: float
    makespan_s: float


@dataclass(frozen=True)
class Outcome:
    """Of one schedule of all jobs. `ends_s`: of each job; `cpu`, `network`: fractions of what the
    hosts have, until the makespan; `start_up_s`: of a stay, the mean; `stopped_s`: because jobs
    moved, the sum over jobs; `beside`: jobs at a time on a pair in use. `load_s`: for which COMP
    waited for spilled data, the mean over jobs. `most_mb`: of memory, of each host. `losses`,
    `pairs`: of each job, the last one, and on how many pairs it was, stay by stay. `controllers`:
    CPUs that all controllers used. `trace`: (seconds, CPU, network). `load`: averages of the
    machine at the end. `decisions_s`: what each choice of groups took; `recoveries`: of jobs, which
    repeat epochs.

    Simulated, None for schedules without a model: `model`, eq. 4.1 with constant COMM and
    starts that take no time; with the measured start and COMM of as many hosts as a job has:
    `alone`, with the steps of each job alone, and `in_group`, with those in this run.
    """

    name: str
    ends_s: list[float]
    cpu: float
    network: float
    start_up_s: float
    moves: int
    stopped_s: float
    beside: float
    load_s: float
    most_mb: list[int]
    models: list[str]
    losses: list[float]
    pairs: list[list[int]]
    controllers: float
    model: Prediction | None
    alone: Prediction | None
    in_group: Prediction | None
    trace: list[list[float]]
    load: str
    decisions_s: list[float]
    recoveries: int
    stays: list[StayTimes]

    @property
    def jct_s(self) -> float:
        """Mean."""
        return sum(self.ends_s) / len(self.ends_s)

    @property
    def makespan_s(self) -> float:
        """Of all jobs."""
        return max(self.ends_s)

    def same_models(self, other: Outcome) -> tuple[int, int, float]:
        """Of the jobs that were always on one pair in both: how many models are equal to the bit,
        and how many there are. Of the others the largest relative difference of their losses: with
        other numbers of workers, sums are made in another order."""
        same = count = 0
        difference = 0.0
        for job, pairs in enumerate(zip(self.pairs, other.pairs, strict=True)):
            if {each for stays in pairs for each in stays} == {1}:
                count += 1
                same += self.models[job] == other.models[job]
                continue
            loss = other.losses[job]
            difference = max(difference, abs(self.losses[job] - loss) / abs(loss))
        return same, count, difference

    @property
    def regrouping(self) -> float:
        """The part of the makespan for which a job was stopped by moves, the mean over jobs."""
        return self.stopped_s / len(self.ends_s) / self.makespan_s

    def write(self, folder: Path) -> None:
        """`folder`/NAME.json."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Self:
        """As written."""
        fields = json.loads(path.read_text())
        for name in ("model", "alone", "in_group"):
            fields[name] = None if fields[name] is None else Prediction(**fields[name])
        return cls(**{**fields, "stays": read_stays(fields["stays"])})


def outcomes_in(folder: Path, names: Sequence[str]) -> dict[str, Outcome]:
    """Those that were written, in this order."""
    paths = {name: folder / f"{name}.json" for name in names}
    return {name: Outcome.read(path) for name, path in paths.items() if path.exists()}


def write_profiles(folder: Path, found: Sequence[Profile]) -> None:
    """Of all jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROFILES).write_text(json.dumps([asdict(each) for each in found]))


def profiles_in(folder: Path) -> list[Profile]:
    """Empty: none were written."""
    path = folder / PROFILES
    return [Profile(**each) for each in json.loads(path.read_text())] if path.exists() else []


def outcome_figures(found: Mapping[str, Outcome], cpus: float) -> list[Figure]:
    """Of each schedule: times as against `isolated`, regrouping, where the time goes, the errors of
    the simulator and of the model of groups, models. `cpus`: of a host."""
    figures: list[Figure] = []
    for name, one in found.items():
        reference = reference_of(name, found)
        figures += [*_time_figures(one, found.get(ISOLATED)), *_use_figures(one)]
        figures += [*_ledger_figures(one), _speed_figure(one, cpus)]
        for where, predicted in (("alone", one.alone), ("in group", one.in_group)):
            if predicted is not None:
                figures += _error_figures(name, where, predicted, one)
        if reference is not None:
            figures += _model_figures(one, reference)
    return figures


def reference_of(name: str, found: Mapping[str, Outcome]) -> Outcome | None:
    """Whose models those of this schedule are to equal; None: of no other one."""
    if name in (ISOLATED, SECTIONS):
        return None
    return found.get(SECTIONS if name == RELOADING else ISOLATED)


def _time_figures(one: Outcome, isolated: Outcome | None) -> list[Figure]:
    figures = []
    targets = PAPER.get(one.name, (None, None))
    for place, kind in enumerate(("JCT", "makespan")):
        seconds = (one.jct_s, one.makespan_s)[place]
        ratio = None
        if isolated is not None:
            ratio = (isolated.jct_s, isolated.makespan_s)[place] / seconds
        paper = targets[place]
        peer = "" if paper is None else f"paper {paper:.2f}"
        figures.append(Figure(f"{one.name}: {kind}", f"{seconds:.1f} s", peer, ratio, paper))
    return figures


def _use_figures(one: Outcome) -> list[Figure]:
    return [
        Figure(f"{one.name}: CPU", f"{one.cpu:.0%}", f"load {one.load}", one.cpu),
        Figure(f"{one.name}: network", f"{one.network:.0%}", "", one.network),
        Figure(f"{one.name}: controllers", f"{one.controllers:.2f} CPUs", "", one.controllers),
        Figure(f"{one.name}: start of a stay", f"{one.start_up_s:.1f} s"),
        Figure(f"{one.name}: jobs on a pair", f"{one.beside:.1f}"),
        Figure(f"{one.name}: recoveries", str(one.recoveries), "", one.recoveries, 0, False),
        Figure(f"{one.name}: decisions", f"{sum(one.decisions_s):.1f} s"),
        Figure(f"{one.name}: COMP waited for data", f"{one.load_s:.1f} s"),
        Figure(f"{one.name}: most memory of a host", f"{max(one.most_mb)} MB"),
        Figure(
            f"{one.name}: regrouping",
            f"{one.stopped_s:.1f} s",
            f"{one.moves} moves",
            one.regrouping,
            MOST_REGROUPING,
            at_least=False,
        ),
    ]


def _ledger_figures(one: Outcome) -> list[Figure]:
    parts = ledger(one.stays)
    return [
        Figure(f"{one.name}: {kind}", f"{seconds:.1f} s", "of the mean JCT", seconds / parts.jct_s)
        for kind, seconds in asdict(parts).items()
    ]


def _speed_figure(one: Outcome, cpus: float) -> Figure:
    measured_s, modelled_s = training_s(one.stays, steps_in(one.stays, cpus))
    return Figure(
        f"{one.name}: training in the same stays, modelled",
        f"{modelled_s:.0f} s",
        f"{measured_s:.0f} s",
        abs(modelled_s / measured_s - 1),
        MOST_SIMULATION_ERROR,
        at_least=False,
    )


def _error_figures(name: str, where: str, predicted: Prediction, measured: Outcome) -> list[Figure]:
    pairs = {
        "JCT": (predicted.jct_s, measured.jct_s),
        "makespan": (predicted.makespan_s, measured.makespan_s),
    }
    return [
        Figure(
            f"{name}: simulated {kind}, steps {where}",
            f"{simulated_s:.1f} s",
            f"{measured_s:.1f} s",
            abs(simulated_s / measured_s - 1),
            MOST_SIMULATION_ERROR,
            at_least=False,
        )
        for kind, (simulated_s, measured_s) in pairs.items()
    ]


def _model_figures(one: Outcome, reference: Outcome) -> list[Figure]:
    same, count, difference = one.same_models(reference)
    figures = [
        Figure(
            f"{one.name}: models as {reference.name}, to the bit",
            f"{same} of {count}",
            "always a pair",
            same / count if count else None,
            1.0,
        )
    ]
    if count < len(one.models):
        others = f"{len(one.models) - count} on more pairs"
        name = f"{one.name}: losses as {reference.name}, relative"
        limit = MOST_LOSS_DIFFERENCE
        figures.append(Figure(name, f"{difference:.1g}", others, difference, limit, False))
    return figures


def draw_traces(found: Mapping[str, Outcome], path: Path) -> None:
    """CPU and network over time, a line for each schedule."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    for axis, column, label in zip(axes, (1, 2), ("CPU in use", "network in use"), strict=True):
        for name, one in found.items():
            times = [point[0] for point in one.trace]
            axis.plot(times, _smooth([point[column] for point in one.trace]), label=name)
        axis.set_ylabel(f"{label} (%)")
        axis.set_ylim(0, 105)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].legend(frameon=False, ncols=len(found), fontsize=8)
    axes[1].set_xlabel("seconds since the beginning")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _smooth(values: Sequence[float], width: int = 5) -> list[float]:
    """Percent, means over some samples before and after."""
    half = width // 2
    spans = [values[max(at - half, 0) : at + half + 1] for at in range(len(values))]
    return [100 * sum(span) / len(span) for span in spans]
