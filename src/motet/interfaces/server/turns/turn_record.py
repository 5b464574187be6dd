"""The subtasks of a machine's jobs, from the record of its arbiter."""

from __future__ import annotations

from dataclasses import replace

from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.report.turns.machine_turns import MachineTurns, SubtaskTurn
from motet.runtime.arbiter.holding_log import log_of, read_holdings

LONGEST_S = 60.0


def turns_of(workplace: Workplace, machine: str, seconds: float) -> MachineTurns:
    """The last so many seconds of the record, without names of jobs; reads a file."""
    held = read_holdings(log_of(workplace.arbiter(machine)))
    turns = [SubtaskTurn(each.start_us, each.end_us, each.kind.value, each.job) for each in held]
    return MachineTurns.latest(machine, turns, seconds, {})


def with_job_names(state: LiveState, turns: MachineTurns) -> MachineTurns:
    """Of the jobs with a turn, as far as the cluster has them."""
    found = (state.jobs.get(int(each)) for each in turns.jobs if each.isdecimal())
    names = {str(job.number): job.spec.name for job in found if job is not None}
    return replace(turns, names=names)
