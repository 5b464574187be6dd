"""The subtasks of a machine within a period, by the token that they held. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from motet.domain.units import SECOND_US

Resource = Literal["CPU", "network"]
RESOURCES: tuple[Resource, ...] = ("CPU", "network")
_RESOURCE_OF: Mapping[str, Resource] = {"comp": "CPU", "pull": "network", "push": "network"}


class SubtaskTurn(NamedTuple):
    """One subtask under its token: `kind` is comp, pull or push. Unix time in microseconds."""

    start_us: int
    end_us: int
    kind: str
    job: str

    @property
    def resource(self) -> Resource:
        """What it held."""
        return _RESOURCE_OF[self.kind]


@dataclass(frozen=True)
class MachineTurns:
    """The turns of a machine within a period, by their ends. `names`: of jobs, by their ids.

    Turns that reach out of the period are cut.
    """

    machine: str
    begin_us: int
    end_us: int
    turns: Sequence[SubtaskTurn]
    names: Mapping[str, str]

    @classmethod
    def latest(
        cls, machine: str, turns: Sequence[SubtaskTurn], seconds: float, names: Mapping[str, str]
    ) -> Self:
        """The last so many seconds before the last turn ended."""
        end_us = max((each.end_us for each in turns), default=0)
        begin_us = max(end_us - round(seconds * SECOND_US), 0)
        inside = [
            each._replace(start_us=max(each.start_us, begin_us))
            for each in turns
            if each.end_us > begin_us
        ]
        jobs = {each.job for each in inside}
        known = {job: name for job, name in names.items() if job in jobs}
        return cls(machine, begin_us, end_us, inside, known)

    @property
    def jobs(self) -> list[str]:
        """Those with a turn, by id."""
        return sorted({each.job for each in self.turns}, key=lambda job: (len(job), job))

    def use(self, resource: Resource) -> float:
        """The part of the period in which a job held it, 0 to 1."""
        held_us, reached_us = 0, self.begin_us
        for each in sorted(self.of(resource)):
            held_us += max(each.end_us - max(each.start_us, reached_us), 0)
            reached_us = max(reached_us, each.end_us)
        return held_us / max(self.end_us - self.begin_us, 1)

    def of(self, resource: Resource) -> Iterator[SubtaskTurn]:
        """The turns with it."""
        return (each for each in self.turns if each.resource == resource)

    def held_us(self, job: str, resource: Resource) -> int:
        """For how long a job held it."""
        return sum(each.end_us - each.start_us for each in self.of(resource) if each.job == job)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` is the inverse."""
        return {
            "machine": self.machine,
            "begin_us": self.begin_us,
            "end_us": self.end_us,
            "cpu_use": self.use("CPU"),
            "network_use": self.use("network"),
            "jobs": {job: self.names.get(job, job) for job in self.jobs},
            "turns": [each._asdict() for each in self.turns],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """From the answer of the API."""
        turns = [SubtaskTurn(**each) for each in document["turns"]]
        period = int(document["begin_us"]), int(document["end_us"])
        return cls(document["machine"], *period, turns, document["jobs"])


def dominant_jobs(
    turns: MachineTurns, resource: Resource, columns: int
) -> list[SubtaskTurn | None]:
    """Of so many equal parts of the period, the turn that held the resource longest in each; None:
    it was idle longer than any job held it.
    """
    step_us = max((turns.end_us - turns.begin_us) / columns, 1.0)
    held: list[dict[tuple[str, str], float]] = [{} for _ in range(columns)]
    of: dict[tuple[str, str], SubtaskTurn] = {}
    for each in turns.of(resource):
        key = each.job, each.kind
        of[key] = each
        first = int((each.start_us - turns.begin_us) / step_us)
        last = int((each.end_us - turns.begin_us) / step_us)
        for column in range(max(first, 0), min(last, columns - 1) + 1):
            start_us = turns.begin_us + column * step_us
            part_us = min(each.end_us, start_us + step_us) - max(each.start_us, start_us)
            held[column][key] = held[column].get(key, 0.0) + max(part_us, 0.0)
    found: list[SubtaskTurn | None] = []
    for shares in held:
        longest = max(((us, key) for key, us in shares.items()), default=None)
        idle_us = step_us - sum(shares.values())
        found.append(None if longest is None or longest[0] < idle_us else of[longest[1]])
    return found
