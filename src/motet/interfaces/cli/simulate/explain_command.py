"""`motet explain`: what became of one job of a simulation, and why."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import click

from motet.interfaces.cli.shell.option_groups import json_option

MOST_COMPLETIONS = 100


def complete_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Job ids of the run named before, for the shell."""
    from motet.report.simulation.job_story import job_ids

    run = ctx.params.get("run")
    known = job_ids(Path(run)) if run else iter(())
    return list(islice((job for job in known if job.startswith(incomplete)), MOST_COMPLETIONS))


@click.command(short_help="Tell the story of one job of a simulation.")
@click.option(
    "--run",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of one run that 'motet simulate --log-decisions --out DIR' wrote.",
)
@click.argument("job", shell_complete=complete_jobs)
@click.option(
    "--all", "is_whole", is_flag=True, help="Show all rows of a long story, and every time slice."
)
@json_option()
def explain(run: Path, job: str, is_whole: bool, as_json: bool) -> None:
    """Tell the story of JOB: when and where it ran, why it waited and for whom, who took its GPUs.

    What is said of a wait, place in line and blockers, is how it was when that line begins. A new
    line begins when the reason changes, or the line before the job has become much shorter.

    \b
    Examples:
      motet simulate --trace jobs.csv --cluster 15x4 --policy tiresias-las \\
                     --log-decisions --out runs/las
      motet explain --run runs/las 17
      motet explain --run runs/las 17 --json
    """
    import sys

    from motet.interfaces.cli.shell.results import print_result
    from motet.interfaces.cli.simulate.explain_screen import story_page
    from motet.report.rendering.json_text import to_json
    from motet.report.simulation.job_story import told_story

    told = told_story(run, job)
    if as_json:
        sys.stdout.write(to_json(told.document()))
        return
    print_result(story_page(told, is_whole=is_whole))
