"""`motet plan`: read the profile and the machines, solve, show the result."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from motet.cruise.search.problem import RoleMode
from motet.cruise.search.solver import best_configuration, cost_curve
from motet.estimate.epoch_cost import Fleet, epoch_s
from motet.interfaces.cli.plan.fleet import read_fleet
from motet.interfaces.cli.plan.profile import JobProfile, read_profile
from motet.interfaces.cli.shell.streams.busy_line import busy_line
from motet.interfaces.cli.shell.streams.results import print_result
from motet.report.rendering.folder import Folder
from motet.report.rendering.json_text import to_json
from motet.report.training.plan_figure import save_plan_figure
from motet.report.training.plan_summary import plan_summary
from motet.report.training.planned_job import AsItRan, PlannedJob

DOCUMENT, PICTURE = "plan.json", "plan.png"


@dataclass(frozen=True)
class PlanFlags:
    """The flags of `motet plan`, as click read them."""

    profile: Path
    machines: str | None
    bandwidth: float | None
    roles: str
    out: Path | None
    as_json: bool


def show_plan(flags: PlanFlags) -> None:
    """Find the best configuration and print it. Raises MotetError."""
    job = read_profile(flags.profile)
    fleet = read_fleet(flags.machines, job, flags.bandwidth)
    roles = RoleMode(flags.roles)
    folder = None if flags.out is None else Folder(flags.out)
    with busy_line("searching (the first time, the solver is compiled)"):
        best = best_configuration(job.profile, fleet, roles)
        curve = cost_curve(job.profile, fleet, roles)
    planned = PlannedJob(job.profile, fleet, roles.value, best, curve, _as_it_ran(job))
    if folder is not None:
        folder.write_json(DOCUMENT, planned.document())
        folder.write(PICTURE, lambda path: save_plan_figure(planned, path))
    if flags.as_json:
        sys.stdout.write(to_json(planned.document()))
    else:
        print_result(plan_summary(planned, flags.out))


def _as_it_ran(job: JobProfile) -> AsItRan | None:
    """The configuration of the profiled run on its own machines."""
    run = job.run
    if run is None or job.bandwidth_bytes_per_s is None:
        return None
    own = Fleet.uniform(run.machines, job.comp_s_per_instance, job.bandwidth_bytes_per_s)
    predicted_s = epoch_s(job.profile, own, run.configuration(job.profile))
    return AsItRan(run.machines, run.workers, run.servers, predicted_s, run.epoch_s)
