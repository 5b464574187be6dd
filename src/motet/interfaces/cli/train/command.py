"""The command `motet train` and its options."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from motet.interfaces.cli.apps.command import complete_app
from motet.interfaces.cli.apps.completion_words import complete_data, complete_setting
from motet.interfaces.cli.shell.option_groups import (
    DescribedArgument,
    SectionedCommand,
    SectionOption,
    json_option,
)
from motet.interfaces.cli.shell.port_number import PortNumber

data_option = partial(click.option, cls=SectionOption, section="Data")
cluster_option = partial(click.option, cls=SectionOption, section="Cluster")
training_option = partial(click.option, cls=SectionOption, section="Training")
output_option = partial(click.option, cls=SectionOption, section="Output")


@click.command("train", cls=SectionedCommand, short_help="Train one model on a parameter server.")
@click.argument(
    "app",
    cls=DescribedArgument,
    shell_complete=complete_app,
    describe="What to train: a name from 'motet app list', or ./mine.py for your own.",
)
@data_option(
    "--data",
    required=True,
    metavar="PATH|NAME",
    shell_complete=complete_data,
    help="File to train on, or the name of a built-in data set (digits, pydoc, ...).",
)
@data_option(
    "--format",
    "format_name",
    metavar="F",
    help="Format of the files; recognised from their content if not given.",
)
@data_option("--test", metavar="FILE", help="Held-out data; names of its metrics start with test_.")
@data_option("--exclude", metavar="FILE", help="File with ratings that are left out of training.")
@data_option(
    "--target",
    metavar="NAME|INDEX",
    help="CSV: the column to predict (-1: the last), or that of the texts.",
)
@data_option(
    "--drop",
    multiple=True,
    metavar="NAME|INDEX",
    help="CSV: a column to leave out (missing, missing-rows: see docs).",
)
@data_option("--na", metavar="TOKEN", help="CSV: text that stands for a missing value.")
@data_option(
    "--columns",
    multiple=True,
    metavar="ROLE=NAME,...",
    help="Ratings: columns that are not found by their names, as in user=reviewerID,item=asin.",
)
@data_option(
    "--stop-words",
    metavar="FILE",
    help="Texts: words that do not count, instead of frequent English ones.",
)
@data_option("--labels", metavar="FILE", help="idx images: their labels, if not beside them.")
@data_option("--test-labels", metavar="FILE", help="The same for the images of --test.")
@cluster_option(
    "--machines",
    type=int,
    metavar="N",
    help="Logical machines.  [default: 2, or workers + servers]",
)
@cluster_option("--workers", type=int, metavar="W", help="Machines that host a worker.")
@cluster_option(
    "--servers",
    type=int,
    metavar="S",
    help="Machines that host a server. With neither role given, every machine hosts both.",
)
@cluster_option(
    "--address",
    envvar="MOTET_ADDRESS",
    show_envvar=True,
    metavar="A",
    help="Join this Ray cluster instead of using processes of this machine.",
)
@cluster_option(
    "--ray", is_flag=True, help="Start Ray on this machine and use its actors as executors."
)
@cluster_option(
    "--port",
    type=PortNumber(),
    default=0,
    metavar="P",
    help="Port that the controller listens on.  [default: any free one]",
)
@training_option(
    "--epochs",
    type=int,
    metavar="E",
    help="Passes over the data, at most.  [default: the application's]",
)
@training_option(
    "--until",
    metavar="RULE",
    help="Stop early: loss=X (the loss is at most X) or improvement=Y (an epoch changes the loss "
    "by less than this share).",
)
@training_option(
    "--set",
    "settings",
    multiple=True,
    metavar="K=V",
    shell_complete=complete_setting,
    help="A parameter of the application ('motet app describe APP' lists them) or "
    "worker_batch_size, staleness, consistency=bsp|ssp|async, checkpoint_every; repeatable.",
)
@training_option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="K",
    help="The same seed gives the same model.",
)
@training_option(
    "--checkpoint-every", type=int, metavar="N", help="Epochs between checkpoints.  [default: 10]"
)
@training_option(
    "--reconfigure",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="YAML file with changes of workers, servers and their shares during training.",
)
@training_option(
    "--auto",
    is_flag=True,
    help="Find the best numbers of workers and servers during training, from any start.",
)
@training_option(
    "--stragglers",
    type=click.Choice(["ignore", "help"]),
    default="ignore",
    show_default=True,
    help="help: idle workers compute for late ones, and workers that stay slow get less data. The "
    "model is then equal up to rounding (LDA: exactly) instead of bit by bit.",
)
@training_option(
    "--lost-after",
    type=float,
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="An executor that answers nothing for so long counts as lost: training continues from the "
    "last checkpoint.",
)
@training_option(
    "--spill",
    metavar="SHARE",
    help="Keep this share (0 to 1) of the input of each worker on disk and read it before each "
    "use; auto: as much as its machine's memory makes necessary, and then the model, too; model: "
    "the model alone, whatever the memory.",
)
@training_option(
    "--spill-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where --spill keeps it: a folder on a disk of every machine. Default: /var/tmp.",
)
@training_option(
    "--spill-to",
    default="disk",
    show_default=True,
    metavar="TARGET",
    help="HOST:PORT,...: what --spill keeps on disk is also in the idle memory of these machines, "
    "as far as they have room, and read from there ('motet memory lend'); remote: of the lenders "
    "of the live cluster that runs this, or else the lender of this user on this machine.",
)
@training_option(
    "--spill-secret",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The secret of the machines of --spill-to. Default: this user's.",
)
@training_option("--resume", is_flag=True, help="Continue from the newest checkpoint in --out.")
@output_option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write loss.csv, loss.png, model.npz, run.json and log.txt there; with --auto auto.png "
    "and two CSV files more.",
)
@output_option(
    "--overwrite", is_flag=True, help="Replace the run in --out, which is refused otherwise."
)
@json_option("Output")
@output_option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option("-v", "--verbose", is_flag=True, help="A progress line for every epoch.")
@click.pass_context
def train_command(ctx: click.Context, /, **flags: Any) -> None:
    """Train APP on a parameter server: workers compute updates, servers hold the model.

    Everything runs on this machine unless --address names a Ray cluster. Under BSP (the
    default) the result is the same for any number of workers and servers.

    \b
    Examples:
      motet train mlr --data digits
      motet train lasso --data diabetes --set l1=0.1 --json
      motet train lda --data docword.kos.txt.gz --set topics=50 --epochs 100 --out kos
      motet train mlr --data digits --auto --machines 4
      motet train nmf --data u.data --exclude u1.test --test u1.test --set rank=16 \\
                      --workers 3 --servers 2
    """
    from motet.interfaces.cli.shell.exits import exit_code_of
    from motet.interfaces.cli.shell.process.supervisor import run_supervised

    ctx.exit(run_supervised(lambda: exit_code_of(lambda: _train(flags))))


def _train(flags: Mapping[str, Any]) -> None:
    """Start the cluster, which takes longest, before the imports."""
    began_s = time.perf_counter()
    from motet.interfaces.cli.train.cluster_start import ClusterStart
    from motet.runtime.blas_threads import ONE_BLAS_THREAD

    os.environ |= ONE_BLAS_THREAD  # Further threads would wait for work in busy loops.
    with ClusterStart([flags["app"]], flags["address"], with_ray=flags["ray"]) as start:
        gc.disable()  # Collections would visit all imported objects again and again.
        from motet.interfaces.cli.train.request import TrainFlags
        from motet.interfaces.cli.train.run import run_training

        gc.freeze()
        gc.enable()
        run_training(TrainFlags(**flags), start, began_s)
