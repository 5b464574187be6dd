"""Tables of jobs for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.domain.units import duration_words, microseconds
from motet.insight.wording import counted, sizes_had
from motet.interfaces.cli.screens.local_clock import date_and_time_of
from motet.interfaces.cli.shell.streams.visible import visible_text

_STYLES = {
    "RUNNING": "green",
    "STARTING": "green",
    "SUCCEEDED": "dim",
    "FAILED": "red",
    "PREEMPTED": "yellow",
    "SUSPENDED": "yellow",
}


def jobs_table(jobs: Sequence[Mapping[str, Any]]) -> Table:
    """A row per job."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("ID", "NAME", "USER", "PROCESSES", "STATE", "SUBMITTED", "REASON"):
        table.add_column(column, justify="right" if column == "PROCESSES" else "left")
    for job in jobs:
        table.add_row(
            job["id"],
            Text(visible_text(_name(job))),
            Text(visible_text(job["user"])),
            processes_text(job),
            Text(job["state"], style=_STYLES.get(job["state"], "")),
            date_and_time_of(job["submitted_at"]),
            Text(visible_text(job["reason"])),
        )
    return table


def processes_text(job: Mapping[str, Any]) -> str:
    """`2`; `2 of 8` of a training whose size changes, `2 to 6` after its end. An older server does
    not tell of those."""
    most = job.get("most_processes")
    if most is None:
        return str(job["processes"])
    return (
        sizes_had(job.get("least_processes"), most)
        if job["ended_at"]
        else f"{job['held_processes']} of {most}"
    )


def _name(job: Mapping[str, Any]) -> str:
    """`sweep[3]`: a job of an array."""
    return f"{job['name']}[{job['index']}]" if job["array"] else str(job["name"])


def _facts_table() -> Table:
    """A fact per row: its name, and what it is in full, over several lines if needed."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def array_screen(array: Mapping[str, Any]) -> RenderableType:
    """An array and its jobs."""
    facts = _facts_table()
    facts.add_row("array", Text(visible_text(f"{array['id']} {array['name']}")))
    facts.add_row("state", Text(array["state"], style=_STYLES.get(array["state"], "")))
    facts.add_row("jobs", Text(array["reason"]))
    if array["most_open"] is not None:
        facts.add_row("at a time", str(array["most_open"]))
    for name in ("user", "queue"):
        facts.add_row(name, Text(visible_text(str(array[name]))))
    facts.add_row("submitted", date_and_time_of(array["submitted_at"]))
    facts.add_row("ended", date_and_time_of(array["ended_at"]))
    return Group(facts, Text(), jobs_table(array["jobs"]))


def job_screen(job: Mapping[str, Any]) -> RenderableType:
    """A job and its attempts."""
    if job["kind"] == "array":
        return array_screen(job)
    spec: Mapping[str, Any] = job["spec"] or {}  # Only the job's user may see it.
    facts = _facts_table()
    facts.add_row("job", Text(visible_text(f"{job['id']} {job['name']}")))
    facts.add_row("state", Text(job["state"], style=_STYLES.get(job["state"], "")))
    remarks = (("reason", job["reason"]), ("", job["message"]), ("command", _command(spec)))
    for name, told in filter(itemgetter(1), remarks):
        facts.add_row(name, Text(visible_text(told)))
    for name in ("user", "queue"):
        facts.add_row(name, Text(visible_text(str(job[name]))))
    facts.add_row("processes", processes_text(job))
    limits = (("of each", _beside_slots(spec)), ("time limit", _time_limit(job)))
    for name, told in filter(itemgetter(1), limits):
        facts.add_row(name, told)
    if job.get("working_folder"):
        facts.add_row("runs in", Text(visible_text(job["working_folder"])))
        facts.add_row("snapshot", _snapshot(spec))
    facts.add_row("submitted", date_and_time_of(job["submitted_at"]))
    facts.add_row("ended", date_and_time_of(job["ended_at"]))
    _add_training_facts(facts, job)
    if not job["attempt_list"]:
        return facts
    return Group(facts, Text(), _attempts(job["attempt_list"], has_roles=job["kind"] == "ps"))


def _add_training_facts(facts: Table, job: Mapping[str, Any]) -> None:
    if job["progress"]:
        facts.add_row("progress", progress_text(job["progress"]))
    if proposal := job.get("proposal"):  # An older server has none.
        facts.add_row("proposes", Text(visible_text(proposal["sentence"])))
    if model := job.get("model"):
        size = f"{model['bytes'] / 1e6:.1f} MB, its largest tensor {model['skew']:.0%} of it"
        facts.add_row("model", size)
    if borrowed := job.get("borrowed_gb_hours"):
        facts.add_row("borrowed", f"{borrowed:,.3g} GB-hours of memory")
    if job["results"]:
        facts.add_row("results", Text(visible_text(job["results"])))


def _command(spec: Mapping[str, Any]) -> str:
    """What every process runs, or what is trained; empty: not to be seen."""
    if run := spec.get("run"):
        return run.strip() if isinstance(run, str) else shlex.join(run)
    return f"{spec['app']} on {spec['data']}" if spec.get("app") else ""


def _time_limit(job: Mapping[str, Any]) -> str:
    """`2 h, reached at 2026-12-01 10:00:00`, `2 h, of which it has run 40 min`; empty: none, or
    the server is an older one."""
    if (longest_s := job.get("max_duration_s")) is None:
        return ""
    told = duration_words(microseconds(longest_s))
    if job["limit_at"] is not None:
        return f"{told}, reached at {date_and_time_of(job['limit_at'])}"
    ran_us = microseconds(job["ran_s"])
    return f"{told}, of which it has run {duration_words(ran_us)}" if ran_us else told


def _snapshot(spec: Mapping[str, Any]) -> Text:
    """Of which folder, and the begin of its digest."""
    if not spec.get("snapshot"):  # An older server knows no snapshots.
        return Text("no")
    return Text(visible_text(f"of {spec['workdir']}, {spec['snapshot'][:12]}"))


def _beside_slots(spec: Mapping[str, Any]) -> str:
    """`4 CPUs, 8.0 GB`; empty: the job states neither, or it is not to be seen."""
    cpus = counted(spec["cpus"], "CPU") if spec.get("cpus") else ""
    memory = f"{spec['memory'] / 1e9:,.3g} GB of memory" if spec.get("memory") else ""
    return ", ".join(filter(None, (cpus, memory)))


def queues_table(queues: Sequence[Mapping[str, Any]]) -> Table:
    """A row per queue. `-`: no limit."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    counts = ("slots", "guarantee", "borrow", "lend", "borrowed", "running", "waiting")
    for column in ("NAME", *map(str.upper, counts), "MODE"):
        table.add_column(column, justify="left" if column in ("NAME", "MODE") else "right")
    for queue in queues:
        cells = ["-" if queue[name] is None else str(queue[name]) for name in counts]
        style = "" if queue["mode"] == "open" else "yellow"
        mode = Text(queue["mode"].upper(), style=style)
        table.add_row(Text(visible_text(queue["name"])), *cells, mode)
    return table


_MACHINE_COLUMNS = ("USED", "STATE", "JOBS", "DRAIN")


def machines_table(machines: Sequence[Mapping[str, Any]]) -> Table:
    """A row per machine."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    has_gpus = any(machine["gpus"] for machine in machines)
    for column in ("NAME", "SLOTS", *(("GPUS",) if has_gpus else ()), *_MACHINE_COLUMNS):
        table.add_column(column, justify="right" if column in ("SLOTS", "USED") else "left")
    for machine in machines:
        drain = machine["drain"]
        table.add_row(
            Text(visible_text(machine["name"])),
            str(machine["slots"]),
            *([",".join(machine["gpus"])] if has_gpus else ()),
            str(machine["used_slots"]),
            Text(machine["state"], style="green" if machine["state"] == "UP" else "yellow"),
            " ".join(machine["jobs"]),
            Text(visible_text(_drain(drain)) if drain else ""),
        )
    return table


def _drain(drain: Mapping[str, Any]) -> str:
    """`disk is full (ann, 2026-12-01 08:00:00)`."""
    return f"{drain['reason']} ({drain['user'] or 'the server'}, {date_and_time_of(drain['from'])})"


def policy_screen(found: Mapping[str, Any]) -> Table:
    """The policy in force, its parameters, who chose it, and why it decides no more."""
    facts = _facts_table()
    facts.add_row("policy", Text(visible_text(found["policy"])))
    if failure := found.get("failure"):
        facts.add_row("failed", Text(visible_text(failure), style="red"))
    for name, value in found["parameters"].items():
        facts.add_row("", Text(visible_text(f"{name}={_parameter(value)}")))
    by = f" by {visible_text(found['user'])}" if found["user"] else ""
    facts.add_row("since", Text(date_and_time_of(found["since"]) + by))
    return facts


def _parameter(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_parameter, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def progress_text(progress: Mapping[str, Any]) -> str:
    """`12 of 100 epochs, loss 0.25`; `..., converged`, which an older server does not tell."""
    total = "" if progress["epochs"] is None else f" of {progress['epochs']}"
    loss = "" if progress["loss"] is None else f", loss {progress['loss']:.6g}"
    converged = ", converged" if progress.get("has_converged") else ""
    return f"{progress['epochs_done']}{total} epochs{loss}{converged}"


def _attempts(attempts: Sequence[Mapping[str, Any]], *, has_roles: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    roles = ("WORKERS", "SERVERS") if has_roles else ()
    has_failures = any(attempt["failure"] for attempt in attempts)
    ends = ("ENDED", "OUTCOME", *(("FAILURE",) if has_failures else ()))
    for column in ("ATTEMPT", "PHASE", "MACHINES", *roles, "RUNNING SINCE", *ends):
        table.add_column(column, no_wrap=column == "FAILURE")
    for attempt in attempts:
        gpus = {name: ",".join(devices) for name, devices in attempt["gpus"].items()}
        places = [
            f"{name}:{slots}" + (f" (GPU {gpus[name]})" if name in gpus else "")
            for name, slots in attempt["placement"].items()
        ]
        table.add_row(
            str(attempt["number"]),
            attempt["phase"],
            " ".join(places),
            *[str(attempt[role.lower()]) for role in roles],
            date_and_time_of(attempt["running_at"]),
            date_and_time_of(attempt["ended_at"]),
            attempt["stop_cause"] if attempt["outcome"] == "stopped" else attempt["outcome"],
            *([attempt["failure"] or ""] if has_failures else ()),
        )
    return table
