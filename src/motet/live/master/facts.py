"""What the journal records beside the events of the engine. Frozen values with a JSON form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.live.launcher.messages import RankExit
from motet.live.queues.queue_facts import QueueFact
from motet.live.slots.devices import Devices, devices_of

T = TypeVar("T")

Verb: TypeAlias = Literal["cancel", "suspend", "resume"]
"""What users do with a job."""

MachineCondition: TypeAlias = Literal["up", "closed", "gone"]
"""`closed`: takes no further jobs; those that it has run on."""


@dataclass(frozen=True, slots=True)
class ClusterDeclared:
    """The machines and their slots; the first fact of a journal.

    `joins`: they are those of a cluster that runs by itself: others come, and all may leave.
    `devices`: the GPUs that are the slots of each machine (`0,1`, or empty); (): none has any.
    `cpus`, `memory_bytes`: of each machine, 0 where unknown; (): of none is known.
    """

    names: tuple[str, ...]
    slots: tuple[int, ...]
    joins: bool = False
    devices: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    memory_bytes: tuple[int, ...] = ()

    def spec(self) -> ClusterSpec:
        """The cluster for the engine."""
        cpus, memory_bytes = self.cpus or 0, self.memory_bytes or 0
        return ClusterSpec.of(self.slots, names=self.names, cpus=cpus, memory_bytes=memory_bytes)

    def has_machines_of(self, other: ClusterDeclared) -> bool:
        """Whether jobs of the other cluster can go on in this one.

        Memory differs a little from one start of a machine to the next; the first one counts.
        """
        own = self.names, self.slots, self.joins, self.devices
        return own == (other.names, other.slots, other.joins, other.devices)

    @property
    def usual_slots(self) -> int:
        """The most frequent number of slots of a machine, the smallest of equally frequent ones; 1
        of an empty cluster."""
        counts = Counter(self.slots)
        return min(counts, key=lambda size: (-counts[size], size), default=1)

    def cpus_of(self, machine: int) -> int:
        """CPUs of a machine; 0: unknown."""
        return self.cpus[machine] if self.cpus else 0

    def memory_of(self, machine: int) -> int:
        """Bytes of memory of a machine; 0: unknown."""
        return self.memory_bytes[machine] if self.memory_bytes else 0

    def with_machine(self, noted: MachineNoted) -> ClusterDeclared:
        """The cluster with one more machine."""
        return replace(
            self,
            names=(*self.names, noted.name),
            slots=(*self.slots, noted.slots),
            devices=(*self._column(self.devices, ""), noted.devices),
            cpus=(*self._column(self.cpus, 0), noted.cpus),
            memory_bytes=(*self._column(self.memory_bytes, 0), noted.memory_bytes),
        )

    def with_devices(self, machine: int, devices: str) -> ClusterDeclared:
        """The cluster with other GPUs in a machine."""
        every = list(self._column(self.devices, ""))
        every[machine] = devices
        return replace(self, devices=tuple(every))

    def with_size(self, machine: int, cpus: int, memory_bytes: int) -> ClusterDeclared:
        """The cluster with other CPUs and memory in a machine."""
        of_cpus = list(self._column(self.cpus, 0))
        of_memory = list(self._column(self.memory_bytes, 0))
        of_cpus[machine], of_memory[machine] = cpus, memory_bytes
        return replace(self, cpus=tuple(of_cpus), memory_bytes=tuple(of_memory))

    def _column(self, given: tuple[T, ...], usual: T) -> tuple[T, ...]:
        return given or (usual,) * len(self.names)

    def devices_of(self, machine: int) -> Devices:
        """The GPUs that are the slots of a machine; empty: its slots are not GPUs."""
        return devices_of(self.devices[machine]) if self.devices else ()


@dataclass(frozen=True, slots=True)
class MachineNoted:
    """A machine of a joined cluster has come, for the first time or again, or has changed.

    `devices`, `cpus`, `memory_bytes`: see ClusterDeclared; if the last two are 0, they are as they
    were, or unknown of a machine that first comes.
    """

    name: str
    slots: int
    condition: MachineCondition
    devices: str = ""
    cpus: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ClusterReached:
    """A joined cluster can be reached, or no longer: `refusal` says why not."""

    refusal: str


@dataclass(frozen=True, slots=True)
class MachineDrained:
    """A machine is to take no further jobs until it is resumed.

    `user`: empty: the server, after failures. `from_us`: when it begins; None: at once.
    """

    name: str
    reason: str
    user: str
    from_us: int | None = None


@dataclass(frozen=True, slots=True)
class DrainBegan:
    """The planned time has come."""

    name: str


@dataclass(frozen=True, slots=True)
class MachineResumed:
    """A drained machine takes jobs again, or a planned drain is cancelled."""

    name: str
    user: str


@dataclass(frozen=True, slots=True)
class PolicyChosen:
    """The policy in force. `settings`: its parameters as text. `user`: empty at the start.

    `needs_durations`: it cannot decide about jobs whose duration is unknown.
    """

    policy: str
    settings: Mapping[str, str]
    user: str = ""
    needs_durations: bool = False


@dataclass(frozen=True, slots=True)
class PolicyFailed:
    """The policy in force has raised an error or made an invalid decision: it is asked no more.

    `message`: what went wrong, and where in its file. The next PolicyChosen ends this.
    """

    message: str


@dataclass(frozen=True, slots=True)
class ArrayAccepted:
    """A user submitted an array of jobs, which follow. `key`: see JobAccepted. `most_open`: how
    many of them may be unfinished at a time; None: all."""

    array: int
    name: str
    user: str
    key: str
    most_open: int | None


@dataclass(frozen=True, slots=True)
class JobAccepted:
    """A user submitted a job. `key`: of the request; a repeated request submits nothing.

    `array`: to which it belongs, with the number `index`; 0: to none. `trial_s`: it is a trial that
    runs so long at most; 0: it is none.
    """

    job: int
    spec: Mapping[str, Any]
    user: str
    key: str
    array: int = 0
    index: int = 0
    trial_s: float = 0.0


@dataclass(frozen=True, slots=True)
class JobReleased:
    """A held job arrives at the engine: everything that it waited for has happened."""

    job: int


@dataclass(frozen=True, slots=True)
class DependencyFailed:
    """A held job is cancelled, because a job that it waits for can no longer succeed.

    `trial`: that job was its trial, which has failed: the job has failed, too. 0: it was another
    one, or cancelled; also in records of earlier versions, which cancelled the job then.
    """

    job: int
    reason: str
    trial: int = 0


@dataclass(frozen=True, slots=True)
class TrialPassed:
    """A trial has run long enough without an error: it has succeeded, and is stopped."""

    job: int


@dataclass(frozen=True, slots=True)
class TimeLimitReached:
    """A job has run for as long as it may: its processes are stopped, and it ends with them."""

    job: int


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A user changed a job."""

    job: int
    verb: Verb
    user: str


@dataclass(frozen=True, slots=True)
class JobUpdated:
    """A user gave a job another priority, queue or `max_duration` (0: none); None: as it was."""

    job: int
    user: str
    priority: int | None = None
    queue: str | None = None
    max_duration: float | None = None


@dataclass(frozen=True, slots=True)
class AttemptRan:
    """All processes of the attempt run. `since_us`: since then, by their shepherds; None: earlier
    versions have recorded only when they heard of it."""

    job: int
    attempt: int
    since_us: int | None = None


@dataclass(frozen=True, slots=True)
class GangResized:
    """The processes that had to join a running job have done so, and others have left it."""

    job: int
    attempt: int


@dataclass(frozen=True, slots=True)
class AttemptIdle:
    """The processes of an attempt write nothing since then (Unix microseconds); None: they do."""

    job: int
    attempt: int
    since_us: int | None


@dataclass(frozen=True, slots=True)
class JobProgressed:
    """A job has trained further. `steps_done`: of a training, epochs. `loss`: None if unknown."""

    job: int
    steps_done: float
    loss: float | None


@dataclass(frozen=True, slots=True)
class SizeSuggested:
    """A training proposes its size; the engine decides. `number`: see SizeWish."""

    job: int
    attempt: int
    number: int
    workers: int
    servers: int
    gain: float


@dataclass(frozen=True, slots=True)
class ModelSeen:
    """The sizes of the model that a job trains on the cluster's pool of Aggregators."""

    job: int
    model_bytes: int
    largest_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryBorrowed:
    """Memory times seconds that an attempt has had from lenders until now, by their numbers."""

    job: int
    attempt: int
    byte_s: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AttemptOver:
    """No process of the attempt is left. `outcome`: how it counts. `exits`: by rank.

    `end`: the final state of the job, None if it goes on; `reason`: of a failure, and `failure` the
    key of its class. `saved_us`: see AttemptEnded; None also in records of earlier versions.
    """

    job: int
    attempt: int
    outcome: str
    exits: tuple[RankExit, ...]
    end: str | None
    reason: str
    failure: str = ""
    saved_us: int | None = None


JobFact: TypeAlias = (
    JobAccepted
    | JobReleased
    | DependencyFailed
    | TrialPassed
    | TimeLimitReached
    | JobChanged
    | JobUpdated
    | AttemptRan
    | GangResized
    | AttemptIdle
    | JobProgressed
    | SizeSuggested
    | ModelSeen
    | MemoryBorrowed
    | AttemptOver
)
Fact: TypeAlias = (
    ClusterDeclared
    | MachineNoted
    | ClusterReached
    | MachineDrained
    | DrainBegan
    | MachineResumed
    | PolicyChosen
    | PolicyFailed
    | QueueFact
    | ArrayAccepted
    | JobFact
)

_KINDS = {kind.__name__: kind for kind in get_args(Fact)}


def facts_to_json(facts: Sequence[Fact]) -> str:
    """A JSON list."""
    values = [{"kind": type(fact).__name__, **asdict(fact)} for fact in facts]
    return json.dumps(values, separators=(",", ":"))


def facts_from_json(text: str) -> list[Fact]:
    """The facts of a JSON list. Raises BadInput."""
    try:
        return [_fact(values) for values in json.loads(text)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"the journal holds facts that cannot be read: {error}") from error


def _fact(values: dict[str, Any]) -> Fact:
    kind: Any = _KINDS[values.pop("kind")]
    if "exits" in values:
        values["exits"] = tuple(RankExit(**each) for each in values["exits"])
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    fact: Fact = kind(**{**values, **lists})
    return fact
