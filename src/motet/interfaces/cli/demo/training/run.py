"""`motet demo`: trains four jobs on the logical machines of one host and compares the results."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from motet.datasets.facts import DatasetFacts
from motet.interfaces.cli.demo.training.jobs import DEMO_JOBS, MACHINES
from motet.interfaces.cli.demo.training.preparation import PreparedJob, prepare_demo_job
from motet.interfaces.cli.demo.training.references import compare_with_references, import_library
from motet.interfaces.cli.demo.training.screen import DemoScreen, JobView
from motet.interfaces.cli.demo.training.summary import DemoResult, demo_summary
from motet.interfaces.cli.screens.recording import screen_svg
from motet.interfaces.cli.screens.run_log import RunLog, no_echo
from motet.interfaces.cli.screens.train import LineProgress, live
from motet.interfaces.cli.shell.called_as import called_as
from motet.interfaces.cli.shell.streams.results import print_result
from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.cli.train.cluster_start import ClusterStart
from motet.interfaces.cli.train.request import more_metrics
from motet.report.rendering.figure_parts import import_matplotlib
from motet.report.rendering.json_text import to_json
from motet.report.rendering.palette import QUIET_STYLE, job_colour
from motet.report.training.document import TrainDocument
from motet.report.training.folder import RunFolder
from motet.report.training.loss_plot import PlottedLoss, save_loss_plot
from motet.runtime.blas_threads import one_blas_thread
from motet.runtime.controller.job import Job
from motet.runtime.controller.ports import ExecutorCluster
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.elastic.role_placement import RolePlacement

WIDTH = 100
NEXT_ARGUMENTS = ("train lda --data pydoc --workers 3 --servers 2", "app list")
PICTURE, SCREEN, RESULTS = "motet-demo.png", "motet-demo.svg", "motet-demo.json"

LIBRARY = "scikit-learn"


class TrainedJob(NamedTuple):
    """A trained job. `ended_s`: on the clock of `time.perf_counter`."""

    prepared: PreparedJob
    result: TrainResult
    ended_s: float


@one_blas_thread()
def run_demo(out: Path, as_json: bool, quiet: bool, start: ClusterStart, began_s: float) -> None:
    """Train the four jobs, write the figures, print the results. Raises MotetError.

    `start`: that the command has begun. `began_s`: start of the command, by `time.perf_counter`.
    """
    folder = RunFolder(out)
    is_live = is_live_terminal(sys.stderr) and not quiet
    screen = DemoScreen(_views(quiet or is_live), MACHINES)
    with _shown(screen, is_live):
        finished = _train_all(screen, start)
        results = list(_compared(screen, finished, began_s))
        screen.stage = "drawing"
        _write(folder, screen, results)
    document = _document(results, time.perf_counter() - began_s)
    folder.write_json(RESULTS, document)
    if as_json:
        sys.stdout.write(to_json(document))
    else:
        shown = _last_screen(screen, results) if sys.stdout.isatty() else demo_summary(results)
        print_result(Group(shown, _next_steps(folder)))


def _views(is_silent: bool) -> list[JobView]:
    """Views of the jobs; with `is_silent` their progress is not echoed as lines."""
    return [
        JobView(
            job=job,
            colour=job_colour(position),
            progress=LineProgress(RunLog(None, _echo(job.app, is_silent))),
            roles=RolePlacement.spread(MACHINES, job.workers, job.servers),
        )
        for position, job in enumerate(DEMO_JOBS)
    ]


@contextmanager
def _shown(screen: DemoScreen, is_live: bool) -> Iterator[None]:
    if not is_live:
        yield
        return
    with live(screen, SafeConsole(stderr=True)):
        yield


def _train_all(screen: DemoScreen, start: ClusterStart) -> list[TrainedJob]:
    """Train all jobs at the same time, each as soon as its data are read."""
    pool = ThreadPoolExecutor(2 * len(screen.jobs) + 1)
    try:
        with start.cluster(MACHINES) as cluster:
            reading = [pool.submit(_prepare, view) for view in screen.jobs]
            running = [
                pool.submit(_train, view, prepared, cluster)
                for view, prepared in zip(screen.jobs, reading, strict=True)
            ]
            wait(reading, return_when=FIRST_EXCEPTION)
            pool.submit(_import_for_the_end)
            wait(running, return_when=FIRST_EXCEPTION)
            return [future.result() for future in running if future.done()]
    finally:
        # After a failure the other jobs are not awaited: their processes end with this one.
        pool.shutdown(wait=False, cancel_futures=True)


def _prepare(view: JobView) -> PreparedJob:
    view.progress.epochs = view.job.epochs
    view.progress.preparing(f"reading {view.job.data}")
    return prepare_demo_job(view.job)


def _train(view: JobView, reading: Future[PreparedJob], cluster: ExecutorCluster) -> TrainedJob:
    prepared = reading.result()
    job = Job(prepared.app, prepared.rows, prepared.options, cluster, view.progress)
    result = job.run()
    view.progress.finished()
    return TrainedJob(prepared, result, time.perf_counter())


def _import_for_the_end() -> None:
    """While executors train: the comparisons and the figures would otherwise wait for it."""
    import_library()
    import_matplotlib()


def _compared(
    screen: DemoScreen, finished: Sequence[TrainedJob], began_s: float
) -> Iterator[DemoResult]:
    for view, (prepared, result, ended_s) in zip(screen.jobs, finished, strict=True):
        screen.stage = f"training {view.job.app} alone, to compare"
        facts = DatasetFacts.of(prepared.dataset, with_sha256=False)
        document = TrainDocument.of(
            result,
            data=view.job.data,
            workers=view.job.workers,
            servers=view.job.servers,
            more_metrics=more_metrics(prepared.app, facts, prepared.test, result),
        )
        comparison = compare_with_references(prepared, document)
        startup_s = ended_s - began_s - sum(document.epoch_s)
        yield DemoResult(prepared, document, comparison, view.colour, startup_s)


def _write(folder: RunFolder, screen: DemoScreen, results: Sequence[DemoResult]) -> None:
    curves = [
        PlottedLoss(
            title=f"{result.document.app}: {result.prepared.job.title}",
            subtitle=result.prepared.dataset.describe(),
            losses=result.document.loss,
            colour=result.colour,
            reference=result.comparison.loss,
            reference_name=LIBRARY,
        )
        for result in results
    ]
    heading = f"Four models, trained at the same time on {MACHINES} machines"
    folder.write(PICTURE, lambda path: save_loss_plot(curves, path, heading))
    folder.write_text(SCREEN, screen_svg(_last_screen(screen, results), WIDTH, "motet demo"))


def _last_screen(screen: DemoScreen, results: Sequence[DemoResult]) -> Group:
    screen.stage = ""
    return Group(screen, demo_summary(results))


def _next_steps(folder: RunFolder) -> Group:
    """The path of the figure, and commands to try next."""
    lines = [Text.assemble((" picture  ", QUIET_STYLE), str(folder.path / PICTURE))]
    program = called_as(sys.argv[0], shutil.which("motet"))
    for label, arguments in zip((" next     ", " " * 10), NEXT_ARGUMENTS, strict=True):
        lines.append(Text.assemble((label, QUIET_STYLE), f"{program} {arguments}"))
    return Group(*lines)


def _document(results: Sequence[DemoResult], wall_s: float) -> dict[str, object]:
    return {
        "machines": MACHINES,
        "wall_s": wall_s,
        "jobs": [
            {
                **result.document.as_dict(),
                "startup_s": result.startup_s,
                "comparison": asdict(result.comparison),
            }
            for result in results
        ],
    }


def _echo(app: str, is_silent: bool) -> Callable[[str], None]:
    if is_silent:
        return no_echo
    return lambda text: echo_note(f"{app:<6}{text}")
