"""Jobs whose data are twice the memory of their control group: every fixed share against `auto`.

Three clusterings (k-means) of 256 MB each in a group of 384 MB, taking turns (`interleave`). A
fixed share is the same for all jobs; those with which the kernel kills a job do not count. Time:
mean seconds of an epoch over all jobs without the first four, in which `auto` looks for its share.
Target: `auto` at most the time of the best fixed share (the source: 16 % shorter, Harmony, section
4.4.8). `--part pulls`: what a PULL in pieces of 2 MB costs, which jobs with `--spill` make.
`--part remote`: three jobs of 160 MB in 256 MB with `auto`, spilled to the disk and to a lender of
memory, in turns and with the models compared; the disk has a limit of 125 MB/s and 3000 requests
per second, then none. Target: with the limit, an epoch is shorter with remote memory.
A whole run of `--part shares` becomes the record `spilling`, a quick one with
`evidence_table.py --keep spilling`; `--report` writes it into
docs/systems/harmony-measurements.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import motet
from motet.domain.arrays import Array
from motet.domain.errors import BadInput, MotetError
from motet.interfaces.training_job import TrainingJob
from support.figures import Figure, parser, report
from support.pulls_in_pieces import pull_figures
from support.records import Record, report_and_keep
from support.remote_spilling import remote_figures
from support.spilling_page import COMPARED, write_page

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from spilled_jobs import LimitedGroup, begun_jobs, instances, limited_group

JOBS, EACH_MB, LIMIT_MB, CLUSTERS = 3, 256, 384, 16
EPOCHS, SETTLING = 24, 4
REMOTE_EACH_MB, REMOTE_LIMIT_MB, REMOTE_EPOCHS = 160, 256, 6
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6)
NAME, TITLE = "spilling", f"{JOBS} jobs of {EACH_MB} MB in {LIMIT_MB} MB"


@dataclass(frozen=True)
class LimitedRun:
    """Means over jobs and epochs; `kills`: of the kernel, for want of memory."""

    epoch_s: float
    load_s: float
    kills: int


def main() -> None:
    """All parts, or one."""
    arguments = parser(__doc__.splitlines()[0])
    arguments.add_argument("--part", choices=("shares", "pulls", "remote"))
    arguments.add_argument("--report", action="store_true", help="write the record into the page")
    given = arguments.parse_args()
    if given.report:
        write_page(Record.read(NAME), TITLE)
        return
    if given.part in (None, "pulls"):
        figures = pull_figures(rounds=20 if given.quick else 100)
        report("spilling_pulls", "PULL in pieces of 2 MB and as a whole", figures, plot=False)
    if given.part in (None, "shares"):
        if given.quick:
            report(NAME, TITLE, _share_figures(SHARES[:2]))
        else:
            report_and_keep(NAME, TITLE, _share_figures(SHARES))
    if given.part in (None, "remote"):
        _report_remote(turns=1 if given.quick else 3)


def _share_figures(shares: Sequence[float]) -> list[Figure]:
    features = instances(EACH_MB)
    first = limited_run(features, "auto")
    fixed = {share: limited_run(features, share) for share in shares}
    tuned = [first, limited_run(features, "auto")]
    whole = {share: run for share, run in fixed.items() if not run.kills}
    best = min(whole, key=lambda share: whole[share].epoch_s)
    best_s, mean_s = whole[best].epoch_s, sum(run.epoch_s for run in tuned) / len(tuned)
    figures = [Figure(f"share {share:g}", *_texts(run)) for share, run in fixed.items()]
    figures += [
        Figure(name, *_texts(run)) for name, run in zip(("auto", "auto again"), tuned, strict=True)
    ]
    figures.append(
        Figure(
            COMPARED,
            f"{mean_s:.3f} s",
            f"{best_s:.3f} s",
            mean_s / best_s,
            1.0,
            at_least=False,
        )
    )
    return figures


def _report_remote(turns: int) -> None:
    features = instances(REMOTE_EACH_MB)

    def begin(cluster: motet.Cluster, options: dict[str, Any]) -> list[TrainingJob]:
        return begun_jobs(
            cluster, features, JOBS, "auto", epochs=REMOTE_EPOCHS, clusters=CLUSTERS, **options
        )

    def memory() -> AbstractContextManager[LimitedGroup]:
        return _limited_group(REMOTE_LIMIT_MB)

    lent_bytes = 3 * JOBS * REMOTE_EACH_MB << 20  # Blocks that arrive, and sections; whole slabs.
    figures = remote_figures(JOBS, begin, memory, turns, lent_bytes)
    sizes = f"{JOBS} jobs of {REMOTE_EACH_MB} MB in {REMOTE_LIMIT_MB} MB"
    report("spilling_remote", f"{sizes}, spilled to the disk and to a lender", figures)


def limited_run(features: Array, spill: float | str) -> LimitedRun:
    """All jobs at a time, in a group of their own."""
    with _limited_group() as group, motet.Cluster(JOBS, interleave=True) as cluster:
        group.join(cluster._cluster.template_id)
        begun = begun_jobs(cluster, features, JOBS, spill, epochs=EPOCHS, clusters=CLUSTERS)
        epochs = [_epochs(job) for job in begun]
        kills = group.kills
    found = [each for each in epochs if each is not None]
    if len(found) < JOBS:
        return LimitedRun(float("inf"), float("inf"), max(kills, 1))
    wall_s, load_s = np.mean(found, axis=0)
    return LimitedRun(float(wall_s), float(load_s), kills)


def _epochs(job: TrainingJob) -> tuple[float, float] | None:
    """Mean epoch and wait for data; None: the job failed."""
    try:
        losses = job.result().losses[SETTLING:]
    except MotetError:
        return None
    return float(losses["wall_s"].mean()), float(losses["load_s"].mean())


@contextmanager
def _limited_group(limit_mb: int = LIMIT_MB) -> Iterator[LimitedGroup]:
    """Raises BadInput."""
    with (
        tempfile.TemporaryDirectory() as folder,
        limited_group(Path(folder), limit_mb) as made,
    ):
        if made is None:
            raise BadInput("control groups of memory are not permitted here; run as root")
        yield made


def _texts(run: LimitedRun) -> tuple[str, str]:
    """An epoch, and the part of it in which COMP waits for data."""
    if run.kills:
        return f"{run.kills} killed", ""
    return f"{run.epoch_s:.3f} s", f"{run.load_s:.3f} s"


if __name__ == "__main__":
    main()
