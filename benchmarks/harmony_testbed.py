"""Harmony on hosts of a testbed with CPU quotas and limited links (Linux, root).

`--part prediction`: jobs of four applications, alone and in all groups of two to four, on the same
hosts; the time of a mini-batch of a group's slowest job against eq. 4.1, with the steps of each job
alone and with those that were measured in the group (the source, W.-Y. Lee 2020, profiles in
groups: the error is always below 5 %). `--sizes 2`: groups of two only; `--jobs nmf,lda`: of these
jobs only. `--first`: hosts and controllers get CPUs before all other processes of the machine, for
a machine on which others run.

`--part schedules`: twelve jobs of four applications on all hosts, `isolated` (each job alone on
machines of its own), `naive` (groups by chance), `subtasks` (the same groups, which take turns),
`grouping` (groups of the policy, which take turns and are regrouped) and `reloading` (the same;
input is on disk as far as memory does not suffice), `sections` (isolated jobs in memory, which
compute in sections as those with input on disk do: their models are the reference of `reloading`).
JCT and makespan as times of `isolated`, use of
CPU and network over time, time lost by regrouping, and what the simulator's model predicts of each
(section 4.4.3: 1.27 and 1.15 by subtasks, 1.72 and 1.35 with groups, 2.11 and 1.60 with reloading).
A machine of a schedule is a pair of hosts, as if no job's data fit on one: a job on one host has no
traffic on the network and nothing to gain from others. A host has memory for MEMORY times the job
that needs most. Each job trains about `--length` seconds alone on a pair. `--schedules grouping`:
this one only. Each schedule is written to results/harmony_schedules as it ends, and the table has
all that are there; profiles are measured once (`--again`: anew). `--report` writes them into
docs/systems/harmony-measurements.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import motet
from motet.apps import APPLICATIONS
from motet.apps.estimator import Estimator
from support.figures import RESULTS, parser, report
from support.harmony_predictions import Bed, prediction_figures, predictions
from support.harmony_schedules import SCHEDULES, Stage
from support.host_cluster import HostMachines, host_machines
from support.host_usage import HostUsage
from support.hosts import hosts_up, hurried, run_first, unwind_when_terminated
from support.input_network import add_input_network
from support.schedule_outcomes import draw_traces, outcome_figures, outcomes_in, profiles_in
from support.schedule_page import write_page
from support.testbed_jobs import JobKind

NAME = "harmonybed"
LOADED = tuple(APPLICATIONS[name] for name in ("nmf", "lda", "mlr", "lasso"))
"""On every host before jobs start."""
CPUS, BANDWIDTH = 0.2, "20mbit"
LENGTH_S, MEMORY = 24.0, 1.6
LENGTHS = 0.7, 1.0, 1.3
"""Of the jobs of each size, in multiples of `--length`."""
LONG_CPUS, LONG_BANDWIDTH = 0.4, "60mbit"
ENDLESS, BATCHES = 1_000_000, 6
SCHEDULE_BATCHES = 2
FOLDER = RESULTS / "harmony_schedules"
RATINGS = "synthetic-ratings:users=24000,items=250,density=0.8"
CORPUS = "synthetic-corpus:documents=48000,words=500,topics=20,length=100"
CLASSES = "synthetic-classification:rows=64000,features=256,classes={classes}"
NUMBERS = "synthetic-regression:rows=800,features=20000,nonzeros=100"
"""Few columns and many rows: a mini-batch then computes as long as it sends."""
LONG_RATINGS = "synthetic-ratings:users=48000,items=1000,density=0.2"
LONG_CORPUS = "synthetic-corpus:documents=32000,words=2000,topics=20,length=150"
LONG_CLASSES = "synthetic-classification:rows=24000,features=1000,classes=40"
LONG_NUMBERS = "synthetic-regression:rows=16000,features=3000,nonzeros=100"


def kinds(size: int) -> list[JobKind]:
    """One endless job of each application; `size`: 1 to 3, of their models. Lasso has one
    mini-batch per epoch."""
    classes = 60 * (size + 1)
    return [
        JobKind(f"nmf {size}", RATINGS, partial(_nmf, rank=96 * (size + 1)), ENDLESS),
        JobKind(f"lda {size}", CORPUS, partial(_lda, topics=60 * (size + 1)), ENDLESS),
        JobKind(f"mlr {size}", CLASSES.format(classes=classes), _mlr, ENDLESS),
        JobKind(f"lasso {size}", NUMBERS, lambda n: motet.Lasso(solver="fista"), ENDLESS),
    ]


def _nmf(rows: int, rank: int) -> Estimator:
    return motet.NMF(rank=rank, batch_size=rows // SCHEDULE_BATCHES)


def _lda(rows: int, topics: int) -> Estimator:
    return motet.LDA(topics=topics, batch_size=rows // SCHEDULE_BATCHES)


def _mlr(rows: int) -> Estimator:
    return motet.MLR(solver="saga", batch_size=rows // SCHEDULE_BATCHES)


def long_kinds() -> list[JobKind]:
    """One endless job of each application, whose COMP and COMM are long beside what a message
    costs, and whose epochs have several mini-batches (Lasso: one)."""
    return [
        JobKind(
            "nmf", LONG_RATINGS, lambda n: motet.NMF(rank=32, batch_size=n // BATCHES), ENDLESS
        ),
        JobKind(
            "lda", LONG_CORPUS, lambda n: motet.LDA(topics=40, batch_size=n // BATCHES), ENDLESS
        ),
        JobKind(
            "mlr",
            LONG_CLASSES,
            lambda n: motet.MLR(solver="saga", batch_size=n // BATCHES),
            ENDLESS,
        ),
        JobKind("lasso", LONG_NUMBERS, lambda n: motet.Lasso(solver="fista"), ENDLESS),
    ]


def schedules(
    hosts: HostMachines,
    names: Sequence[str],
    folder: Path,
    *,
    sizes: int,
    length_s: float,
    seconds: float,
    again: bool,
) -> None:
    """Each of these schedules once, all with the same profiles; each is written as it ends."""
    jobs = [kind for size in range(1, sizes + 1) for kind in kinds(size)]
    lengths_s = [length_s * length for length in LENGTHS[:sizes] for _ in kinds(1)]
    stage = Stage(NAME, hosts, CPUS, jobs, lengths_s, MEMORY)
    profiles = stage.profiles(seconds, folder, again=again)
    for name in names:
        outcome = stage.run(SCHEDULES[name], profiles)
        outcome.write(folder)
        found = outcomes_in(folder, list(SCHEDULES))
        title = f"{len(jobs)} jobs on {len(hosts)} hosts with {CPUS:g} CPUs and {BANDWIDTH}"
        report("harmony_testbed_schedules", title, outcome_figures(found, CPUS), plot=False)
        draw_traces(found, RESULTS / "harmony_traces.png")


def _bed(
    hosts: HostMachines,
    numbers: Sequence[int],
    cpus: float,
    seconds: float,
    hurry: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Bed:
    return Bed(hosts, numbers, cpus, seconds, lambda: HostUsage(NAME, numbers), hurry)


def main() -> None:
    """On a testbed that ends with this command."""
    arguments = parser(main.__doc__ or "")
    arguments.add_argument("--part", choices=("prediction", "schedules"), default="schedules")
    arguments.add_argument("--hosts", type=int, default=8)
    arguments.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    arguments.add_argument(
        "--length", type=float, default=LENGTH_S, help="seconds of a job of the schedules"
    )
    arguments.add_argument(
        "--schedules", nargs="+", choices=tuple(SCHEDULES), default=tuple(SCHEDULES)
    )
    arguments.add_argument("--again", action="store_true", help="also profiles that are kept")
    arguments.add_argument("--sizes", type=int, nargs="+", default=(2, 3, 4))
    arguments.add_argument("--jobs", type=lambda text: text.split(","), help="their names")
    arguments.add_argument("--first", action="store_true", help="before other processes")
    arguments.add_argument(
        "--report", action="store_true", help="write the page from the schedules that are kept"
    )
    given = arguments.parse_args()
    if given.report:
        hosts_text = f"{given.hosts} hosts with {CPUS:g} CPUs and {BANDWIDTH}"
        write_page(outcomes_in(FOLDER, list(SCHEDULES)), profiles_in(FOLDER), hosts_text, CPUS)
        return
    unwind_when_terminated()
    machines = 2 if given.quick else given.hosts
    is_long = given.part == "prediction"
    cpus, bandwidth = (LONG_CPUS, LONG_BANDWIDTH) if is_long else (CPUS, BANDWIDTH)
    shape = ("--machines", str(machines), "--cpus", str(cpus), "--bandwidth", bandwidth)
    with hosts_up(NAME, *shape, "--no-ray"), host_machines(NAME, LOADED) as hosts:
        if given.first:
            run_first(NAME)
        if given.part == "schedules":
            add_input_network(NAME)
            schedules(
                hosts,
                given.schedules,
                FOLDER,
                sizes=1 if given.quick else len(LENGTHS),
                length_s=given.length,
                seconds=given.seconds,
                again=given.again,
            )
            return
        jobs = [each for each in long_kinds() if not given.jobs or each.name in given.jobs]
        two = range(min(2, machines))
        bed = _bed(hosts, two, cpus, given.seconds, partial(hurried, NAME))
        figures = prediction_figures(predictions(bed, jobs, given.sizes))
    title = f"{machines} hosts with {cpus:g} CPUs and {bandwidth}"
    report(f"harmony_testbed_{given.part}", title, figures)


if __name__ == "__main__":
    main()
