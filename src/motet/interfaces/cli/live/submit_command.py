"""`motet submit`: a job file, a training, or a command after `--`."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.live.connection import server_option, state_option
from motet.interfaces.cli.live.server_names import job_option, queue_option
from motet.interfaces.cli.shell.option_groups import json_option
from motet.interfaces.cli.shell.option_types import DurationType, MachinesType

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient
    from motet.live.workdirs.archive import Archive


@click.command(
    "submit",
    short_help="Submit a command, a job file or a training (--app).",
    context_settings={"ignore_unknown_options": False},
)
@click.option(
    "-f",
    "--file",
    "job_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="JOB.YAML",
    help="A job file.",
)
@click.option("-n", "--name", metavar="NAME", help="Name of the job.")
@click.option("--processes", type=click.IntRange(1), metavar="N", help="Processes of the gang.")
@click.option(
    "--min-processes",
    type=click.IntRange(1),
    metavar="N",
    help="Let the policy run N to --processes processes, and change their number while the command "
    "runs; the program has to be made for it. Default: always --processes.",
)
@click.option("--cpus", type=click.IntRange(1), metavar="N", help="CPUs of each process.")
@click.option("--memory", metavar="SIZE", help="Memory of each process, as 4GB or 500MiB.")
@click.option(
    "--duration",
    "duration_s",
    type=DurationType(),
    metavar="TIME",
    help="How long it runs, as 90 (seconds), 30m, 2h or 1d; srtf, srsf, themis and tetris compare "
    "jobs by it. No limit.",
)
@click.option(
    "--max-duration",
    type=DurationType(),
    metavar="TIME",
    help="End it when it has run so long, over all attempts: the preempt signal comes grace_s "
    "before, then it is killed. Default: no limit.",
)
@click.option("--app", metavar="APP", help="Train this application, as `motet train` does.")
@click.option("--data", metavar="PATH|NAME", help="Training: file, or name of a built-in data set.")
@click.option("--workers", type=click.IntRange(1), metavar="W", help="Training: default 1.")
@click.option("--servers", type=click.IntRange(1), metavar="S", help="Training: default 1.")
@click.option(
    "--machines",
    type=MachinesType(),
    metavar="N|any",
    help="Training: a worker and a server on each of N whole machines, or on as many as the policy "
    "chooses; harmony runs such trainings on the same machines.",
)
@click.option("--epochs", type=click.IntRange(1), metavar="E", help="Training: passes, at most.")
@click.option("--target", metavar="NAME|INDEX", help="Training: the column of a table to predict.")
@click.option(
    "--drop", multiple=True, metavar="NAME|INDEX", help="Training: a column to leave out."
)
@click.option(
    "--columns",
    multiple=True,
    metavar="ROLE=NAME,...",
    help="Training on ratings: columns, as in user=reviewerID,item=asin.",
)
@click.option("--test", metavar="PATH|NAME", help="Training: data to evaluate the model on.")
@click.option("--until", metavar="RULE", help="Training: stop early, loss=X or improvement=Y.")
@click.option("--seed", type=click.IntRange(0), metavar="K", help="Training: default 0.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="K=V",
    help="Training: a parameter as with `motet train`; repeatable.",
)
@click.option("--priority", type=int, metavar="N", help="Higher first, under policies that use it.")
@queue_option("A queue of `motet queue list`. Default: default.")
@job_option(
    "--after",
    multiple=True,
    type=click.IntRange(1),
    help="Start only when this job has succeeded; repeatable.",
)
@click.option(
    "--snapshot",
    is_flag=True,
    default=None,
    help="Run in a copy of the folder as it is now: later changes do not reach the job.",
)
@click.option(
    "--trial",
    is_flag=True,
    default=None,
    help="Run one process for a minute first: a job that fails at once never takes its slots.",
)
@click.option("--env", "envs", multiple=True, metavar="K=V", help="A variable; repeatable.")
@click.option(
    "--key", metavar="TEXT", help="A repeated request with the same key submits nothing new."
)
@click.option(
    "--dry-run",
    "is_dry_run",
    is_flag=True,
    help="Submit nothing: show when the job would start, and which jobs would end later.",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, is_given: _print_schema(ctx, is_given=is_given),
    help="Print the JSON Schema of job files.",
)
@json_option()
@state_option
@server_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def submit_command(
    server: str | None,
    state_folder: Path | None,
    job_path: Path | None,
    envs: tuple[str, ...],
    key: str | None,
    is_dry_run: bool,
    as_json: bool,
    command: tuple[str, ...],
    settings: tuple[str, ...],
    **given: Any,
) -> None:
    """Submit a job file, a batch script of Slurm, a training (--app), or the COMMAND after '--',
    which runs in this folder.

    \b
    Examples:
      motet submit -f job.yaml
      motet submit job.sbatch
      motet submit --processes 2 -- python train.py --epochs 10
      motet submit --processes 4 --dry-run -- python train.py
      motet submit --duration 2h --max-duration 3h -- python train.py
      motet submit --snapshot -- python train.py
      motet submit --app mlr --data digits --workers 2 --servers 1 --set l2=0.001
    """
    from motet.datasets.rating_frames import RatingColumns
    from motet.interfaces.cli.live.job_file import job_values
    from motet.interfaces.cli.live.name_value import name_and_value
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress
    from motet.interfaces.training_settings.training_check import checked_training

    given["drop"] = [*given["drop"]] or None
    given["columns"] = RatingColumns.of(given["columns"]).by_role or None
    given["after"] = [*given["after"]] or None
    given["set"] = dict(name_and_value("--set", each) for each in settings)
    job_path, command = _script_or_command(job_path, command)
    values = job_values(job_path, command, envs, given)
    values = checked_training(values, "job" if job_path is None else str(job_path))
    with LiveClient(ServerAddress.find(server, state_folder)) as client:
        if is_dry_run:
            _show_dry_run(client, values, as_json=as_json)
        else:
            _submit(client, values, key, as_json=as_json)


def _show_dry_run(client: LiveClient, values: dict[str, Any], *, as_json: bool) -> None:
    """Show what the job would do."""
    from motet.interfaces.cli.shell.streams.busy_line import changing_line

    if as_json:
        found = client.dry_run(values)
    else:
        with changing_line(
            "simulating the queue (the first time, the simulator is compiled)"
        ) as it:
            found = client.dry_run(values, it)
    _print_dry_run(found, as_json=as_json)


def _submit(client: LiveClient, values: dict[str, Any], key: str | None, *, as_json: bool) -> None:
    from motet.interfaces.cli.shell.streams.results import print_json
    from motet.interfaces.live_cluster.snapshots import with_snapshot

    values = with_snapshot(client, values, _tell_sending)
    job = client.submit(values, key or uuid.uuid4().hex)
    if as_json:
        print_json(job)
        return
    click.echo(job["id"])
    where = _server_options(click.get_current_context().params)
    is_array = job["kind"] == "array"
    follow = f"list -w {where}--array" if is_array else f"logs -f {where}".rstrip()
    click.echo(f"{job['name']} is {job['state']}; follow it: motet {follow} {job['id']}", err=True)


def _print_schema(ctx: click.Context, *, is_given: bool) -> None:
    from motet.interfaces.cli.shell.streams.results import print_json
    from motet.live.jobs.job_schema import job_file_schema

    if is_given and not ctx.resilient_parsing:
        print_json(job_file_schema())
        ctx.exit()


def _script_or_command(
    job_path: Path | None, command: tuple[str, ...]
) -> tuple[Path | None, tuple[str, ...]]:
    """`motet submit job.sbatch` means the same as with `-f`. Raises UsageError for another job file
    in the place of a command."""
    from motet.interfaces.job_files import is_batch_script, is_job_file

    if job_path is not None or not command:
        return job_path, command
    path = Path(command[0])
    if len(command) == 1 and is_batch_script(path):
        return path, ()
    if is_job_file(path) and path.is_file():
        raise click.UsageError(
            f"{path}: a job file is no command; did you mean: motet submit -f {path}"
        )
    return job_path, command


def _tell_sending(archive: Archive) -> None:
    """Large ones take a while."""
    from motet.report.rendering.quantities import bytes_text, count_text

    files, size = count_text(archive.files, "file"), bytes_text(archive.size)
    click.echo(f"sending a snapshot of {files}, {size}", err=True)


def _print_dry_run(found: Mapping[str, Any], *, as_json: bool) -> None:
    from motet.interfaces.cli.screens.dry_run import dry_run_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    if as_json:
        print_json(found)
    else:
        print_result(dry_run_screen(found))


def _server_options(given: Mapping[str, Any]) -> str:
    """The options that named the server, for the next command."""
    options = {"--server": given["server"], "--state-dir": given["state_folder"]}
    return "".join(f"{name} {shlex.quote(str(it))} " for name, it in options.items() if it)
