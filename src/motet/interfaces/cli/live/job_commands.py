"""Commands on submitted jobs: describe, cancel, suspend, resume, wait, logs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from motet.domain.errors import ExitCode, MotetError, Unreachable, signal_exit_code
from motet.interfaces.cli.live.connection import echo_absence, with_client
from motet.interfaces.cli.live.job_lists.states_option import states_option
from motet.interfaces.cli.live.server_names import job_argument, queue_option
from motet.interfaces.cli.shell.option_groups import json_option
from motet.live.jobs.job_state import JobState

if TYPE_CHECKING:
    from motet.interfaces.client import LiveClient


_OPEN = tuple(state for state in JobState if not state.is_final)


@click.command("describe", short_help="Show a job of the live cluster.")
@job_argument()
@json_option()
@with_client
def describe_job_command(client: LiveClient, job: str, as_json: bool) -> None:
    """Show a job, its specification and its attempts."""
    from motet.interfaces.cli.live.screens import job_screen
    from motet.interfaces.cli.shell.streams.results import print_json, print_result

    found = client.job(job)
    if as_json:
        print_json(found)
    else:
        print_result(job_screen(found))


def _change_command(verb: str, summary: str, text: str) -> click.Command:
    @click.command(verb, short_help=summary, help=text)
    @job_argument("jobs", is_many=True, all_states=False)
    @json_option()
    @with_client
    def command(client: LiveClient, jobs: tuple[str, ...], as_json: bool) -> None:
        from motet.interfaces.live_cluster.job_changes import changed_jobs

        changes = changed_jobs(client, jobs, lambda job: client.change(job, verb))
        _echo_changed(changes, as_json=as_json)

    return command


def _echo_changed(jobs: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    show_changed(jobs, lambda job: f"{job['id']}  {job['name']}  {job['state']}", as_json=as_json)


def show_changed(
    jobs: Iterable[dict[str, Any]], line: Callable[[dict[str, Any]], str], *, as_json: bool
) -> None:
    """Print jobs as they are changed, also those before an error, which is raised then."""
    from motet.interfaces.cli.shell.streams.results import print_json

    changed: list[dict[str, Any]] = []
    try:
        for job in jobs:
            changed.append(job)
            if not as_json:
                click.echo(line(job))
    except MotetError:
        if as_json and changed:
            print_json({"jobs": changed})
        raise
    if as_json:
        print_json({"jobs": changed})


@click.command("cancel", short_help="Cancel jobs.")
@job_argument("jobs", is_many=True, is_optional=True, all_states=False)
@queue_option("All jobs of this queue that have not ended.")
@click.option("--user", metavar="U", help="All jobs of this user that have not ended.")
@states_option("All jobs in these states.", _OPEN)
@json_option()
@with_client
def cancel_command(
    client: LiveClient,
    jobs: tuple[str, ...],
    queue: str | None,
    user: str | None,
    states: tuple[str, ...],
    as_json: bool,
) -> None:
    """Cancel jobs: their processes are stopped, and they do not return.

    Give ids, or options that choose jobs; several options choose jobs that meet all of them. Of
    several jobs, those that can be cancelled are; an error names the others (exit status 2).
    """
    from motet.interfaces.live_cluster.job_changes import cancelled_jobs, changed_jobs

    is_chosen = bool(queue or user or states)
    if bool(jobs) == is_chosen:
        raise click.UsageError("give ids of jobs, or --queue, --user, --state")
    if is_chosen:
        changed = [*cancelled_jobs(client, states, queue, user)]
        if not changed:
            click.echo("no job meets this; nothing was cancelled", err=True)
        _echo_changed(sorted(changed, key=lambda job: int(job["id"])), as_json=as_json)
    else:
        changes = changed_jobs(client, jobs, lambda job: client.change(job, "cancel"))
        _echo_changed(changes, as_json=as_json)


suspend_command = _change_command(
    "suspend",
    "Suspend jobs.",
    "Suspend jobs: their processes are stopped, and they get no slots until they are resumed.",
)
resume_command = _change_command(
    "resume", "Resume suspended jobs.", "Resume suspended jobs: they wait for slots again."
)


@click.command("wait", short_help="Wait until jobs have ended.")
@job_argument("jobs", is_many=True)
@click.option("--timeout", "timeout_s", type=click.FloatRange(0), metavar="S", help="Seconds.")
@click.option(
    "--propagate-exit-code", is_flag=True, help="End with the exit status of the job's command."
)
@json_option()
@with_client
def wait_command(
    client: LiveClient,
    jobs: tuple[str, ...],
    timeout_s: float | None,
    propagate_exit_code: bool,
    as_json: bool,
) -> int:
    """Wait until all of the jobs have ended, and print each when it has.

    Exit status: 0 all succeeded, 1 a job did not, 124 timed out. With --propagate-exit-code that of
    the first job, as given, that did not succeed.

    It goes on when the server was away for less than ten minutes.
    """
    from motet.interfaces.cli.shell.streams.results import print_json

    ends_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
    found = [client.wait(job, 0.0) for job in jobs]  # An unknown job is refused at once.
    for place, job in enumerate(jobs):
        found[place] = _waited_for(client, job, found[place], ends_s)
        if not as_json:
            _echo_state(found[place])
    if as_json:
        print_json(found[0] if len(found) == 1 else {"jobs": found})
    if not all(JobState(each["state"]).is_final for each in found):
        return ExitCode.TIMED_OUT
    codes = (_exit_code(client, it) if propagate_exit_code else _succeeded(it) for it in found)
    return next((code for code in codes if code), 0)


def _waited_for(
    client: LiveClient, job: str, found: dict[str, Any], ends_s: float
) -> dict[str, Any]:
    """A job as soon as it has ended, or as it was last `found` at a time of the monotonic clock."""
    from motet.interfaces.api_access.server_absence import ServerAbsence

    absence = ServerAbsence(client, echo_absence, f"until then this waits for job {job}")
    while not JobState(found["state"]).is_final and (left_s := ends_s - time.monotonic()) > 0:
        try:
            found = client.wait(job, left_s)
        except Unreachable as error:
            absence.endure(error)
        else:
            absence.end()
    return found


def _echo_state(job: dict[str, Any]) -> None:
    reason = f": {job['reason']}" if job["reason"] else ""
    click.echo(f"{job['id']}  {job['name']}  {job['state']}{reason}")


def _succeeded(job: dict[str, Any]) -> int:
    return int(job["state"] != "SUCCEEDED")


def _exit_code(client: LiveClient, job: dict[str, Any]) -> int:
    """That of the process that failed first, as a shell would give it; of an array that of its
    first job without success."""
    if job["state"] == "SUCCEEDED":
        return 0
    if job["kind"] == "array":
        failed = next(each["id"] for each in job["jobs"] if each["state"] != "SUCCEEDED")
        return _exit_code(client, client.job(failed))
    attempts = job["attempt_list"]
    if not attempts or not attempts[-1]["exits"]:
        return ExitCode.FAILED
    ends, first = attempts[-1]["exits"], attempts[-1].get("failed_rank")
    if first is not None:  # An earlier server does not tell it.
        ends = [ends[first], *ends]
    return next((code for code in map(_code_of_end, ends) if code), ExitCode.FAILED)


def _code_of_end(end: dict[str, Any]) -> int:
    return int(end["code"]) if end["code"] is not None else signal_exit_code(end["signal"] or 0)


@click.command("logs", short_help="Print the log of a job.")
@job_argument()
@click.option("-f", "--follow/--no-follow", default=False, help="Print until the job has ended.")
@click.option("--rank", type=click.IntRange(0), default=0, metavar="N", help="Process. Default: 0.")
@click.option(
    "--attempt", type=click.IntRange(0), default=0, metavar="N", help="Default: the last."
)
@with_client
def logs_command(client: LiveClient, job: str, follow: bool, rank: int, attempt: int) -> None:
    """Print what a process of a job wrote to its standard output and standard error.

    Without -f it prints what is there and ends. With -f it goes on with the attempts that follow,
    on whatever machine, and prints no line twice.
    """
    from motet.interfaces.cli.live.log_stream import print_log

    print_log(client, job, rank=rank, attempt=attempt, follow=follow)
