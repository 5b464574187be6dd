"""The subtasks of a machine's jobs, from the record of its arbiter."""

from __future__ import annotations

from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.report.turns.machine_turns import MachineTurns, SubtaskTurn
from motet.runtime.arbiter.holding_log import log_of, read_holdings

LONGEST_S = 60.0


def turns_of(
    workplace: Workplace, machine: str, seconds: float, names: dict[str, str]
) -> MachineTurns:
    """The last so many seconds of the record; reads a file."""
    held = read_holdings(log_of(workplace.arbiter(machine)))
    turns = [SubtaskTurn(each.start_us, each.end_us, each.kind.value, each.job) for each in held]
    return MachineTurns.latest(machine, turns, seconds, names)


def job_names(state: LiveState) -> dict[str, str]:
    """Of all trainings that may share machines, by id."""
    return {
        str(number): job.spec.name for number, job in state.jobs.items() if job.spec.is_by_machine
    }
