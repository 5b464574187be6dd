"""Single simulations of `simulator.py`: what is simulated, and what it takes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.engine.ports import Journal
from motet.report.cluster_run.decision_writer import DecisionWriter, in_batches
from motet.sim.experiment import Experiment
from motet.sim.generate import Recipe, generate, parse_arrivals, parse_durations, parse_mix
from motet.sim.replay.outcome import Outcome
from motet.sim.traces import read_trace
from motet.sim.workload.workload import Workload
from support.figures import RESULTS, Figure, made_here
from support.side_by_side import real_or_generated

FOLDER = RESULTS / "simulator"
FREE = {"preemption_cost": "0"}
PHILLY, YEAR, BINS = "philly", "helios-year", "tiresias"
LOG_TIMES = 1.3
_USUAL_S = {"60x8": 60.0, "80x8": 30.0}
_FAST_S = {"60x8": 15.0, "80x8": 8.0}
_FAST, _SLOW, _SLOW_S = ("fifo", "tiresias-las"), ("themis", "gandiva", "slaq"), 120.0
_YEAR_S = {"fifo": 100.0, "tiresias-las": 150.0, "yarn-cs": 150.0}
_SIZES = {5_000: 1.0, 20_000: None, 100_000: None}


@dataclass(frozen=True)
class Line:
    """`workload`: `philly`, the log of 82,247 jobs; `helios-year`, a million jobs, written to a
    file and read from it; `tiresias-N`, N jobs of Tiresias' sizes that keep 512 GPUs busy.
    `limit_s`: CPU-seconds, with the reading of the year. `with_log`: with and without the decision
    log and its file, in turn.
    """

    policy: str
    workload: str
    cluster: str
    limit_s: float | None = None
    with_log: bool = False

    @property
    def name(self) -> str:
        """On the command line, and of its file."""
        log = "-log" if self.with_log else ""
        return f"{self.workload}-{self.cluster}-{self.policy}{log}"


@dataclass(frozen=True)
class Taken:
    """What a simulation took. `cpu_s`, `plain_s`: with and without the decision log, equal for a
    line without it; `read_s`: of the file. `peak_bytes`: of the process."""

    cpu_s: float
    plain_s: float
    read_s: float
    decisions: int
    most_waiting: int
    peak_bytes: int
    made: Mapping[str, str]

    @classmethod
    def of(cls, line: Line) -> Self | None:
        """What was measured before."""
        path = FOLDER / f"{line.name}.json"
        if not path.exists():
            return None
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(**document)

    def keep(self, line: Line) -> None:
        """Leave it for `of`."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1)
        (FOLDER / f"{line.name}.json").write_text(text, encoding="utf-8")

    def figure(self, line: Line) -> Figure:
        """Beside its limit."""
        measured, name = f"{self.cpu_s:.2f} CPU-s", line.name
        if line.with_log:
            times, without = self.cpu_s / self.plain_s, f"{self.plain_s:.2f} CPU-s"
            return Figure(name, measured, without, times, LOG_TIMES, at_least=False)
        rate, whole_s = f"{self.decisions / self.cpu_s:,.0f} events/s", self.whole_s(line)
        return Figure(name, measured, rate, whole_s, line.limit_s, at_least=False)

    def whole_s(self, line: Line) -> float:
        """What the limit of a line counts."""
        return self.cpu_s + (self.read_s if line.workload == YEAR else 0.0)


def lines(*, quick: bool = False) -> Iterator[Line]:
    """All of them; Philly's only where its log is at hand."""
    for policy in built_in_policies() if _philly() else ():
        for cluster, usual_s in _USUAL_S.items():
            is_fast = policy in _FAST
            limit_s = _SLOW_S if policy in _SLOW else usual_s
            yield Line(policy, PHILLY, cluster, _FAST_S[cluster] if is_fast else limit_s)
            if is_fast:
                yield Line(policy, PHILLY, cluster, with_log=True)
    for jobs, limit_s in _SIZES.items():
        yield Line("tiresias-las", f"{BINS}-{jobs}", "64x8", limit_s)
    if not quick:
        for policy, limit_s in _YEAR_S.items():
            yield Line(policy, YEAR, "128x8", limit_s)


def measured(line: Line) -> Taken:
    """Simulate it in this process, with compiled kernels."""
    _simulated(line, _of_bins(300), "15x4", DecisionLog(lambda entry: None))
    workload, read_s = _workload(line.workload)
    outcome, plain_s = _simulated(line, workload, line.cluster)
    cpu_s = plain_s
    if line.with_log:
        cpu_s = _logged_s(line, workload)
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    most = int(outcome.waiting_jobs.max())
    decisions = outcome.decision_count
    return Taken(cpu_s, plain_s, read_s, decisions, most, peak_bytes, made_here())


def _logged_s(line: Line, workload: Workload) -> float:
    """CPU-seconds with what `--log-decisions` writes."""
    names = ClusterSpec.parse(line.cluster).names
    with tempfile.TemporaryFile("w", encoding="utf-8", newline="\n") as file:
        began_s = time.process_time()
        with in_batches(DecisionWriter(file, workload.ids, names)) as write:
            _simulated(line, workload, line.cluster, DecisionLog(write))
        return time.process_time() - began_s


def _simulated(
    line: Line, workload: Workload, cluster: str, journal: Journal | None = None
) -> tuple[Outcome, float]:
    """A simulation and its CPU-seconds."""
    began_s = time.process_time()
    experiment = Experiment(line.policy, FREE)
    outcome = experiment.run(workload, ClusterSpec.parse(cluster), journal=journal)
    return outcome, time.process_time() - began_s


def _workload(name: str) -> tuple[Workload, float]:
    """A workload and the CPU-seconds of reading it."""
    if name.startswith(BINS):
        return _of_bins(int(name.rpartition("-")[2])), 0.0
    if name == PHILLY:
        return _read(_philly())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "year.csv")
        motet = str(Path(sys.executable).with_name("motet"))
        subprocess.run([motet, "trace", "generate", path, "--mix", YEAR], check=True)
        return _read(path)


def _read(path: str) -> tuple[Workload, float]:
    began_s = time.process_time()
    workload = read_trace(path).workload
    return workload, time.process_time() - began_s


def _philly() -> str:
    path, is_real = real_or_generated("../traces/philly.csv.gz", "")
    return path if is_real else ""


def _of_bins(jobs: int) -> Workload:
    recipe = Recipe(
        jobs, parse_mix("tiresias-480"), parse_arrivals("poisson:10"), parse_durations("bins")
    )
    return generate(recipe, np.random.default_rng(0))
