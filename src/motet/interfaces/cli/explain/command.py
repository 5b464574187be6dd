"""`motet explain`: explains the waits and runs of one job, live or simulated."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from motet.domain.errors import BadInput
from motet.interfaces.cli.live.connection import server_option, state_option
from motet.interfaces.cli.live.server_names import complete_job
from motet.interfaces.cli.shell.option_groups import json_option

MOST_COMPLETIONS = 100


def complete_jobs(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids of jobs for the shell: of the run in `--run`, else of the live cluster."""
    from motet.report.simulation.job_story import job_ids

    run = ctx.params.get("run")
    if run is None:
        return complete_job(ctx, param, incomplete)
    known = (CompletionItem(job) for job in job_ids(Path(run)) if job.startswith(incomplete))
    return list(islice(known, MOST_COMPLETIONS))


@click.command("explain", short_help="Explain the waits and runs of one job.")
@click.option(
    "--run",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of one run that 'motet simulate --log-decisions --out DIR' wrote; without it, the "
    "job is one of the live cluster.",
)
@click.argument("job", shell_complete=complete_jobs, required=False)
@click.option(
    "--all", "is_whole", is_flag=True, help="Show all rows of a long story, and every time slice."
)
@click.option(
    "--coverage",
    "wants_coverage",
    is_flag=True,
    help="Instead of a job: how many starts were within the ranges predicted for them.",
)
@server_option
@state_option
@json_option()
def explain_command(
    run: Path | None,
    job: str | None,
    is_whole: bool,
    wants_coverage: bool,
    server: str | None,
    state_folder: Path | None,
    as_json: bool,
) -> None:
    """Explain JOB: when and where it ran, why and for which jobs it waited, which took its GPUs.

    Place in line and blockers of a wait are those at the beginning of its row. A new row begins
    when the reason changes, or when far fewer jobs are before it in line.

    \b
    Examples:
      motet explain 17                    a job of the live cluster
      motet simulate --trace jobs.csv --cluster 15x4 --policy tiresias-las \\
                     --log-decisions --out runs/las
      motet explain --run runs/las 17     a job of a simulation
      motet explain --run runs/las 17 --json
    """
    if (job is None) is not wants_coverage or (wants_coverage and run is not None):
        raise click.UsageError("give a JOB, or --coverage of the live cluster")
    if job is None:
        _show_coverage(server, state_folder, as_json=as_json)
    elif run is None:
        _explain_live(server, state_folder, job, is_whole=is_whole, as_json=as_json)
    elif server is not None or state_folder is not None:
        raise BadInput("--run is a folder of a simulation; leave out --server and --state-dir")
    else:
        _explain_simulated(run, job, is_whole=is_whole, as_json=as_json)


def _explain_simulated(run: Path, job: str, *, is_whole: bool, as_json: bool) -> None:
    from motet.interfaces.cli.explain.simulated_job import story_page
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.report.simulation.job_story import read_job_story
    from motet.report.simulation.story_document import story_document

    explained = read_job_story(run, job)
    if as_json:
        print_json(story_document(explained))
    else:
        print_result(story_page(explained, is_whole=is_whole))


def _explain_live(
    server: str | None, state_folder: Path | None, job: str, *, is_whole: bool, as_json: bool
) -> None:
    from motet.interfaces.cli.explain.live_job import explanation_page
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress

    with LiveClient(ServerAddress.find(server, state_folder)) as client:
        document = client.explain(job)
    if as_json:
        print_json(document)
    else:
        print_result(explanation_page(document, is_whole=is_whole))


def _show_coverage(server: str | None, state_folder: Path | None, *, as_json: bool) -> None:
    from motet.interfaces.cli.explain.live_job import coverage_page
    from motet.interfaces.cli.shell.streams.results import print_json, print_result
    from motet.interfaces.client import LiveClient
    from motet.interfaces.server_address import ServerAddress

    with LiveClient(ServerAddress.find(server, state_folder)) as client:
        found = client.prediction_coverage()
    if as_json:
        print_json({"coverage": found})
    else:
        print_result(coverage_page(found))
