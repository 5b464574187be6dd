"""`motet demo`: submits the jobs as they arrive, shows them, and compares with FIFO."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from motet.interfaces.cli.demo.cluster.failures import keep_logs_of_failures
from motet.interfaces.cli.demo.cluster.progress import DemoProgress
from motet.interfaces.cli.demo.cluster.results import DemoResults
from motet.interfaces.cli.demo.cluster.screen import MAX_WIDTH, ClusterScreen
from motet.interfaces.cli.demo.cluster.server_process import demo_server
from motet.interfaces.cli.demo.cluster.summary import cluster_summary
from motet.interfaces.cli.screens.recording import screen_svg
from motet.interfaces.cli.screens.run_log import no_echo
from motet.interfaces.cli.screens.train import live
from motet.interfaces.cli.shell.streams.results import print_result
from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.terminal import is_live_terminal
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.interfaces.client import LiveClient
from motet.interfaces.demo_jobs.demonstrations import Demonstration
from motet.interfaces.demo_jobs.submitter import Submitter
from motet.interfaces.demo_jobs.workload import Arrival
from motet.interfaces.server_address import TOKEN_FILE
from motet.report.rendering.json_text import to_json
from motet.report.training.folder import RunFolder

RESULTS, PICTURE = "motet-demo.json", "motet-demo.svg"
_LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class DemoOptions:
    """`keep`: serve the web page after the last job until Ctrl-C."""

    as_json: bool = False
    quiet: bool = False
    keep: bool = False


def run_cluster_demo(
    folder: Path,
    demo: Demonstration,
    arrivals: Sequence[Arrival],
    out: RunFolder,
    options: DemoOptions,
) -> None:
    """Run jobs on a cluster inside this machine, and print what became of them.

    `folder`: for the state of the server, new. Raises MotetError; JobFailed after the results if a
    job has not succeeded.
    """
    began_s = time.perf_counter()
    with demo_server(folder, demo.cluster, demo.policy, demo.settings) as client:
        _tell_where(client.url, folder, options)
        progress = DemoProgress(len(arrivals))
        screen = ClusterScreen(progress, client.url)
        out.write_text(PICTURE, _run_all(client, arrivals, progress, screen, options))
        pages = [client.job(job["id"]) for job in progress.jobs]
        failure = keep_logs_of_failures(client, pages, out)
        replay = None if demo.other is None else client.what_if(demo.other, {})
        results = DemoResults.of(demo.policy, pages, replay, time.perf_counter() - began_s)
        out.write_json(RESULTS, results.as_dict())
        _print(results, as_json=options.as_json)
        if options.keep:
            echo_note(f"the server runs on until Ctrl-C: {client.url}")
            Event().wait()
    if failure is not None:
        raise failure


def _run_all(
    client: LiveClient,
    arrivals: Sequence[Arrival],
    progress: DemoProgress,
    screen: ClusterScreen,
    options: DemoOptions,
) -> str:
    """Submit the jobs and show them until all have ended. Raises MotetError.

    Returns a picture of the screen at the arrival of the last one.
    """
    is_live = is_live_terminal(sys.stderr) and not options.quiet
    echo = no_echo if is_live or options.quiet else echo_note
    picture = ""
    with Submitter(client, arrivals, no_echo) as submitter, _shown(screen, is_live):
        while not progress.are_all_ended:
            if submitter.error is not None:
                raise submitter.error
            for change in progress.update(list(client.jobs()), client.machines()):
                echo(change)
            if len(progress.jobs) == len(arrivals):
                picture = picture or screen_svg(screen, MAX_WIDTH, "motet demo")
            time.sleep(_LOOK_EVERY_S)
    return picture


def _print(results: DemoResults, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(to_json(results.as_dict()))
        sys.stdout.flush()
    else:
        print_result(cluster_summary(results))


def _tell_where(url: str, folder: Path, options: DemoOptions) -> None:
    if not options.quiet:
        echo_note(f"web page  {url}")
        echo_note(f"token     {(folder / TOKEN_FILE).read_text(encoding='ascii').strip()}")


@contextmanager
def _shown(screen: ClusterScreen, is_live: bool) -> Iterator[None]:
    if not is_live:
        yield
        return
    with live(screen, SafeConsole(stderr=True)):
        yield
