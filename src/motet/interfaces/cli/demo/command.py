"""The command `motet demo` and its options."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.server_extra import require_server_extra


@click.command("demo", short_help="Run a dozen real jobs on a live cluster.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("motet-demo"),
    show_default=True,
    metavar="DIR",
    help="Write results and figures there.",
)
@click.option(
    "--policy",
    type=click.Choice(["tiresias-las", "harmony"]),
    default="tiresias-las",
    show_default=True,
    help="harmony: trainings that share machines.",
)
@click.option("--training", is_flag=True, help="Train four models at the same time instead.")
@click.option("--keep", is_flag=True, help="Keep the server and its web page until Ctrl-C.")
@json_option()
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def demo_command(
    ctx: click.Context,
    out: Path,
    policy: str,
    training: bool,
    keep: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a dozen real jobs on a live cluster inside this machine.

    A server with its web page, trainings on parameter servers and commands that arrive within a
    minute, preempted and resumed by tiresias-las; at the end what FIFO would have done. It takes
    about two minutes.

    With --policy harmony: eight trainings that share two machines, of which one computes while
    another one communicates, and that are grouped anew as they arrive and end.

    With --training: softmax regression and matrix factorisation on handwritten digits, sparse
    regression on a medical study, a topic model on Python's documentation, trained at the same
    time, beside the results of a single machine. It takes about ten seconds.

    All data is on this machine already.
    """
    from motet.interfaces.cli.shell.exits import exit_code_of
    from motet.interfaces.cli.shell.process.supervisor import run_supervised

    if training and keep:
        raise click.UsageError("--keep is for the live cluster; leave out --training")

    def run() -> None:
        if training:
            _run_training(out, as_json, quiet)
        else:
            _run_cluster(out, policy, as_json, quiet, keep)

    ctx.exit(run_supervised(lambda: exit_code_of(run)))


def _run_cluster(out: Path, policy: str, as_json: bool, quiet: bool, keep: bool) -> None:
    require_server_extra(", or run 'motet demo --training', which needs none of them")
    from motet.interfaces.cli.demo.cluster.run import DemoOptions, run_cluster_demo
    from motet.interfaces.demo_jobs.demonstrations import DEMONSTRATIONS
    from motet.report.training.folder import RunFolder

    with tempfile.TemporaryDirectory(prefix="motet-demo-") as scratch:
        demo = DEMONSTRATIONS[policy]
        arrivals, options = demo.arrivals(Path(scratch)), DemoOptions(as_json, quiet, keep)
        run_cluster_demo(Path(scratch) / "server", demo, arrivals, RunFolder(out), options)


def _run_training(out: Path, as_json: bool, quiet: bool) -> None:
    """Start the cluster, which takes longest, before the imports."""
    began_s = time.perf_counter()
    from motet.interfaces.cli.demo.training.jobs import DEMO_JOBS
    from motet.interfaces.cli.train.cluster_start import ClusterStart

    with ClusterStart([job.app for job in DEMO_JOBS]) as start:
        from motet.interfaces.cli.demo.training.run import run_demo

        run_demo(out, as_json, quiet, start, began_s)
