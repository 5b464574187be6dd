"""The command `motet demo` and its options."""

from __future__ import annotations

import time
from pathlib import Path

import click

from motet.interfaces.cli.shell.option_groups import json_option


@click.command("demo", short_help="Train four real models at the same time.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("motet-demo"),
    show_default=True,
    metavar="DIR",
    help="Write figures of the loss curves and of the last screen there.",
)
@json_option()
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def demo_command(ctx: click.Context, out: Path, as_json: bool, quiet: bool) -> None:
    """Train four real models at the same time on a cluster inside this machine.

    Softmax regression and matrix factorisation on handwritten digits, sparse regression on a
    medical study, a topic model on Python's documentation. All data is on this machine already. It
    takes about a minute and ends with a table of results beside those of a single machine.
    """
    from motet.interfaces.cli.shell.exits import exit_code_of
    from motet.interfaces.cli.shell.process.supervisor import run_supervised

    ctx.exit(run_supervised(lambda: exit_code_of(lambda: _run(out, as_json, quiet))))


def _run(out: Path, as_json: bool, quiet: bool) -> None:
    """Start the cluster, which takes longest, before the imports."""
    began_s = time.perf_counter()
    from motet.interfaces.cli.demo.jobs import DEMO_JOBS
    from motet.interfaces.cli.train.cluster_start import ClusterStart

    with ClusterStart([job.app for job in DEMO_JOBS]) as start:
        from motet.interfaces.cli.demo.run import run_demo

        run_demo(out, as_json, quiet, start, began_s)
