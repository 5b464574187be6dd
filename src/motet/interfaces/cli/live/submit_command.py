"""`motet submit`: a job file, or a command after `--`."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.live.connection import with_client
from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


@click.command(
    "submit",
    short_help="Submit a job to the live cluster.",
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
@click.option("--priority", type=int, metavar="N", help="Higher first, under policies that use it.")
@click.option("--env", "envs", multiple=True, metavar="K=V", help="A variable; repeatable.")
@click.option(
    "--key", metavar="TEXT", help="A repeated request with the same key submits nothing new."
)
@json_option()
@with_client
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def submit_command(
    client: LiveClient,
    job_path: Path | None,
    name: str | None,
    processes: int | None,
    priority: int | None,
    envs: tuple[str, ...],
    key: str | None,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Submit a job file, or the COMMAND after '--', which runs in this folder.

    \b
    Examples:
      motet submit -f job.yaml
      motet submit --processes 2 -- python train.py --epochs 10
    """
    from motet.interfaces.cli.live.job_file import job_values
    from motet.interfaces.cli.live.screens import print_document
    from motet.live.jobs.job_file import job_spec

    given: dict[str, Any] = {"name": name, "processes": processes, "priority": priority}
    values = job_values(job_path, command, envs, given)
    if job_path is not None:
        job_spec(values, str(job_path))  # The server does not know the file's name.
    job = client.submit(values, key or uuid.uuid4().hex)
    if as_json:
        print_document(job)
        return
    click.echo(job["id"])
    click.echo(f"{job['name']} is {job['state']}; follow it: motet logs -f {job['id']}", err=True)
