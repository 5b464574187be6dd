"""The base class of scheduling policies, and the capabilities that they declare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar, Literal

from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot


class JobInput(Enum):
    """A property of jobs by which policies decide and that a log of jobs may lack.

    The value is its name in messages.
    """

    DURATION = "whole run times"
    LOSS = "loss curves"
    SPEED = "speed functions"
    DEMANDS = "CPUs or memory"
    QUEUE = "queues"
    MODEL = "models"
    SUBTASKS = "COMP and COMM times"


class Policy(ABC):
    """A pure function from a snapshot to the allocation that holds from now on.

    A policy is a frozen dataclass. Its fields are its parameters; a field `seed: int` is the seed
    of the policy's random draws, and a simulation sets it to the seed of the run unless the user
    does. A policy performs no I/O, reads no clock, and runs the same under a simulator and on real
    machines.

    The class variables below are the capabilities of a policy. Drivers read them; a policy
    overrides those that differ from the defaults.
    """

    memory_columns: ClassVar[Mapping[str, int]] = {}
    """Per-job values that are kept from one decision to the next, with the value for a new job. The
    decision log reports a change of the column `level` (the number of a job's queue, from 0) as a
    promotion or demotion."""

    knows_durations: ClassVar[bool] = False
    """The policy is an oracle: a simulation fills `remaining_us` with the true remaining time. For
    other policies `remaining_us` is UNKNOWN."""

    wants_estimates: ClassVar[bool] = False
    """`snapshot.estimates` is computed; it is None otherwise."""

    wants_machine_speeds: ClassVar[bool] = False
    """`snapshot.machine_speeds` is filled where the driver measures machines."""

    may_overtake: ClassVar[bool] = False
    """A job that fits may start before one that precedes it in the policy's order and does not fit.
    Under limits of queues this holds also for a job that does not fit into its queue's limits."""

    equal_shares_of: ClassVar[Literal["", "jobs", "queues"]] = ""
    """Between what the policy divides the GPUs evenly by resizing elastic jobs. A simulation whose
    jobs are all rigid reports that there is nothing to divide."""

    keeps_requests: ClassVar[bool] = False
    """A job that starts gets all GPUs that it requests, also an elastic one. A simulation then is
    over as soon as no waiting job can get these, however few it can run with."""

    keeps_order: ClassVar[bool] = False
    """While a job waits, no job that is submitted later gets GPUs, unless limits of queues hold the
    earlier one back. Predictions of its start then need not foresee later submissions."""

    placement: ClassVar[str] = "consolidate"
    """The placement planner that a simulation uses unless the user names another one."""

    needed_inputs: ClassVar[Mapping[JobInput, str]] = {}
    """Properties of jobs without which the policy does not serve its purpose, each with what the
    policy does for jobs that lack it."""

    useful_inputs: ClassVar[Mapping[JobInput, str]] = {}
    """As `needed_inputs`, for properties without which the policy serves its purpose in part."""

    @property
    def needs_durations(self) -> bool:
        """Whether `decide` fails for jobs whose `remaining_us` is UNKNOWN."""
        return self.knows_durations

    @abstractmethod
    def decide(self, snapshot: Snapshot) -> Decision:
        """The whole allocation from now on."""
