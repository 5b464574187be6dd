"""Wait reasons: one table, from which everything that depends on a reason is derived.

A new reason is one more member of `Wait` with its row. Sentences are templates; their parts in
braces are described in `motet.insight.waits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum, auto
from typing import Self


class DelayCause(StrEnum):
    """Causes of queueing delay, as in the analysis of Philly's logs (Jeon et al., ATC 2019)."""

    FAIR_SHARE = "fair_share"
    """The job's queue used all of its quota, or holds more than other queues with waiting jobs."""
    FRAGMENTATION = "fragmentation"
    """Enough GPUs are free, but on too many machines for the job or for the job at the head of the
    line, or on machines that are drained or lack free CPUs or memory."""
    POLICY_ORDER = "policy_order"
    """The policy allocated the GPUs to other jobs, whether or not this job fits."""


class BlockerRule(Enum):
    """Which jobs block a job that waits."""

    HOLDERS_BEFORE = auto()
    """Jobs with GPUs before it in the policy's order; without an order, all jobs with GPUs."""
    HEAD_OF_LINE = auto()
    """The first job whose reason does not depend on another waiting job."""
    HOLDERS_OF_QUEUE = auto()
    """Jobs with GPUs in the same queue."""
    ALL_HOLDERS = auto()
    """All jobs with GPUs."""


@dataclass(frozen=True)
class ReasonWords:
    """`name`: in CamelCase, unique. `title`: a few words, for sums of waiting time. `sentence`: the
    template of one wait. `advice`: what the user of the job could do, with `{job}` for its id."""

    name: str
    title: str
    sentence: str
    advice: str


@dataclass(frozen=True)
class WaitReason(ReasonWords):
    """A row of the table.

    `cause`: the class of delay. `blockers`: which jobs block this one.
    `compares`: what `Reasons.measure` and `Reasons.bar` are; empty: the policy compares nothing.
    `is_timed`: the wait may end without an event, when the policy decides again by itself or what
    keeps the job back ends, so the log has that time.
    """

    cause: DelayCause
    blockers: BlockerRule = BlockerRule.HOLDERS_BEFORE
    compares: str = ""
    is_timed: bool = False


class Wait(IntEnum):
    """Codes of the reasons for which jobs wait. RUNS, the code of jobs that run, has no reason."""

    _reason: WaitReason | None

    def __new__(cls, code: int, reason: WaitReason | None = None) -> Self:
        """A member has the value `code`."""
        wait = int.__new__(cls, code)
        wait._value_ = code
        wait._reason = reason
        return wait

    RUNS = 0
    TOO_FEW_GPUS = (
        1,
        WaitReason(
            name="InsufficientGpus",
            cause=DelayCause.POLICY_ORDER,
            title="too few free GPUs",
            sentence="{needs}, {free} at its turn{refused}{place}{before}",
            advice="with fewer GPUs it may start earlier: motet submit --dry-run tells when",
        ),
    )
    BEHIND_HEAD = (
        2,
        WaitReason(
            name="BehindHead",
            cause=DelayCause.POLICY_ORDER,
            title="behind the head of the line",
            sentence="may not overtake {head}; {needs_itself}, {free}{place}",
            advice="only a policy that lets jobs overtake, as best-effort, would start it earlier",
            blockers=BlockerRule.HEAD_OF_LINE,
        ),
    )
    LOCALITY = (
        3,
        WaitReason(
            name="GpusTooFarApart",
            cause=DelayCause.FRAGMENTATION,
            title="GPUs too far apart",
            sentence="needs {gpus} closer together, {free}{place}{anywhere_later}{running}",
            advice="with fewer GPUs it needs fewer machines",
            is_timed=True,
        ),
    )
    QUOTA = (
        4,
        WaitReason(
            name="QuotaReached",
            cause=DelayCause.FAIR_SHARE,
            title="quota used up",
            sentence="its queue used up its quota{holders}; {needs}{place}",
            advice="move it to another queue: motet update {job} --queue Q",
            blockers=BlockerRule.HOLDERS_OF_QUEUE,
        ),
    )
    ORDER = (
        5,
        WaitReason(
            name="KeptBackByPolicy",
            cause=DelayCause.POLICY_ORDER,
            title="kept back by the policy",
            sentence="the policy kept it back: {free}, it {needs}{again}",
            advice="nothing to do: the policy decides again by itself",
            blockers=BlockerRule.ALL_HOLDERS,
            is_timed=True,
        ),
    )
    BEHIND_LOCALITY = (
        6,
        WaitReason(
            name="BehindLocality",
            cause=DelayCause.FRAGMENTATION,
            title="behind a head that waits for GPUs closer together",
            sentence="may not overtake {head_closer_together}; {needs_itself}, {free}{place}",
            advice="only a policy that lets jobs overtake, as best-effort, starts it earlier",
            blockers=BlockerRule.HEAD_OF_LINE,
        ),
    )
    LESS_PROGRESS = (
        7,
        WaitReason(
            name="LessProgress",
            cause=DelayCause.POLICY_ORDER,
            title="its loss would fall less",
            sentence="its loss is predicted to fall {fall}; {asks}, {free}{place}",
            advice="trainings whose loss no longer falls keep GPUs from it: cancel yours",
            compares="the predicted fall of the loss per GPU",
        ),
    )
    MORE_LEFT = (
        8,
        WaitReason(
            name="MoreWorkLeft",
            cause=DelayCause.POLICY_ORDER,
            title="it has more left to do",
            sentence="predicted to have {left}; {asks}, {free}{place}",
            advice="fewer epochs, or a smaller minimum of workers and servers, start it earlier",
            compares="the predicted GPU-seconds that are left",
        ),
    )
    TOO_FEW_CPUS = (
        9,
        WaitReason(
            name="InsufficientCpus",
            cause=DelayCause.FRAGMENTATION,
            title="too few free CPUs",
            sentence="{needs}, {free} at its turn, but {short_of_cpus}{place}{before}",
            advice="request fewer CPUs for each process (cpus)",
        ),
    )
    TOO_LITTLE_MEMORY = (
        10,
        WaitReason(
            name="InsufficientMemory",
            cause=DelayCause.FRAGMENTATION,
            title="not enough free memory",
            sentence="{needs}, {free} at its turn, but {short_of_memory}{place}{before}",
            advice="request less memory for each process (memory)",
        ),
    )
    SHARE = (
        11,
        WaitReason(
            name="LargerShare",
            cause=DelayCause.FAIR_SHARE,
            title="behind those with a smaller share",
            sentence="its queue holds more than {shares}; {needs_itself}, {free}{place}",
            advice="move it to a queue that holds less: motet update {job} --queue Q",
            compares="the dominant share of the job's queue; `bar`: the lowest of waiting queues",
        ),
    )
    OUTBID = (
        12,
        WaitReason(
            name="Outbid",
            cause=DelayCause.POLICY_ORDER,
            title="outbid in an auction",
            sentence="outbid{rhos}; {needs}, {free}{again}",
            advice="nothing to do: its bid rises while it waits",
            compares="finish-time fairness rho at the last auction; `bar`: the lowest that won",
            is_timed=True,
        ),
    )
    LEASE_OVER = (
        13,
        WaitReason(
            name="LeaseOver",
            cause=DelayCause.POLICY_ORDER,
            title="its lease was over",
            sentence="its lease ended early, as payment for what it won, and others have the GPUs "
            "until the next auction{ran_before}; {needs}, {free}{again}",
            advice="nothing to do: it bids again in the next auction",
            is_timed=True,
        ),
    )
    LEFT_UNKNOWN = (
        14,
        WaitReason(
            name="UnknownWorkLeft",
            cause=DelayCause.POLICY_ORDER,
            title="no end of it predicted",
            sentence="{left_assumed}; {asks}, {free}{place}",
            advice="a training that reports its loss and has epochs, or until, is predicted",
            compares="the GPU-seconds that are assumed to be left",
        ),
    )
    FALL_UNKNOWN = (
        15,
        WaitReason(
            name="UnknownProgress",
            cause=DelayCause.POLICY_ORDER,
            title="no loss of it known",
            sentence="no loss of it is known, so it is taken to fall as 1/(1 + k) with k steps: "
            "{fall}; {asks}, {free}{place}",
            advice="a training that reports its loss is compared by it",
            compares="the assumed fall of the loss per GPU",
        ),
    )
    RESTART_DELAYED = (
        16,
        WaitReason(
            name="RestartDelayed",
            cause=DelayCause.POLICY_ORDER,
            title="restart delayed after failures",
            sentence="it runs again after a delay, because its last attempts failed{restart}; its "
            "slots stay free for it",
            advice="look why it failed: motet logs {job}; it starts again by itself",
            blockers=BlockerRule.ALL_HOLDERS,
            is_timed=True,
        ),
    )
    MIN_RUNTIME = (
        17,
        WaitReason(
            name="MinimumRuntime",
            cause=DelayCause.POLICY_ORDER,
            title="minimum runtime of others",
            sentence="{needs}, {free}: no job is preempted before it has run for min_runtime"
            "{place}{running}{preemptible_later}",
            advice="nothing to do; an administrator can shorten it: motet policy set P --set "
            "min_runtime=S",
            blockers=BlockerRule.ALL_HOLDERS,
            is_timed=True,
        ),
    )
    PREEMPTION_RATE = (
        18,
        WaitReason(
            name="PreemptionRate",
            cause=DelayCause.POLICY_ORDER,
            title="others were preempted often",
            sentence="{needs}, {free}: no job is preempted more than preemptions_per_hour times "
            "an hour{place}{running}{preemptible_later}",
            advice="nothing to do; an administrator can raise it: motet policy set P --set "
            "preemptions_per_hour=N",
            blockers=BlockerRule.ALL_HOLDERS,
            is_timed=True,
        ),
    )
    QUEUE_LIMIT = (
        19,
        WaitReason(
            name="QueueLimitReached",
            cause=DelayCause.FAIR_SHARE,
            title="limit of its queue",
            sentence="{its_queue} may hold {of_queue}{holders}; {needs}{place}",
            advice="move it to another queue (motet update {job} --queue Q), or have the limit "
            "raised: motet queue update",
            blockers=BlockerRule.HOLDERS_OF_QUEUE,
            compares="the GPUs that the job's queue holds; `bar`: guarantee + borrow",
        ),
    )
    QUEUE_GUARANTEE = (
        20,
        WaitReason(
            name="GuaranteedToOthers",
            cause=DelayCause.FAIR_SHARE,
            title="GPUs guaranteed to other queues",
            sentence="{its_queue} has a guarantee of {of_queue}, and the rest is guaranteed to "
            "other queues or in use; {needs}, {free}{place}{running}",
            advice="move it to a queue that has a guarantee, or have one given to its queue: motet "
            "queue update",
            blockers=BlockerRule.ALL_HOLDERS,
            compares="the GPUs that the job's queue holds; `bar`: its guarantee",
        ),
    )
    QUEUE_HELD = (
        21,
        WaitReason(
            name="QueueOnHold",
            cause=DelayCause.POLICY_ORDER,
            title="its queue is on hold",
            sentence="{its_queue} is on hold: its jobs start after `motet queue resume`; {needs}"
            "{place}",
            advice="move it to another queue: motet update {job} --queue Q; an administrator ends "
            "the hold by motet queue resume",
            blockers=BlockerRule.ALL_HOLDERS,
        ),
    )
    NO_GAIN = (
        22,
        WaitReason(
            name="NoHigherUse",
            cause=DelayCause.POLICY_ORDER,
            title="machines would not be used more",
            sentence="{uses}{running}",
            advice="wait for the end of a running job, or add machines",
            blockers=BlockerRule.ALL_HOLDERS,
            compares="the use of CPU and network of the cluster, weighted, if the job ran in its "
            "best group; `bar`: the present one",
        ),
    )
    GROUP_MEMORY = (
        23,
        WaitReason(
            name="NoGroupWithRoom",
            cause=DelayCause.FRAGMENTATION,
            title="no machines with memory for its data",
            sentence="no machines have memory for its input and model{running}{again}",
            advice="wait for the end of a running job, or let input be on disk: reloading=true",
            blockers=BlockerRule.ALL_HOLDERS,
            is_timed=True,
        ),
    )
    MACHINES_DRAINED = (
        24,
        WaitReason(
            name="MachinesDrained",
            cause=DelayCause.FRAGMENTATION,
            title="machines drained, closed or gone",
            sentence="{needs}, {free} at its turn, and {drained}{place}",
            advice="drained machines take jobs again after motet machine resume, gone ones after "
            "motet machine join on them; motet machine list shows which they are, motet doctor why "
            "one is closed",
            compares="GPUs of machines that are drained, closed or gone; `bar`: of all machines",
        ),
    )

    @property
    def key(self) -> str:
        """The name in files: "too_few_gpus"."""
        return self.name.lower()

    @property
    def reason(self) -> WaitReason:
        """The row of the table. Raises ValueError for RUNS."""
        if self._reason is None:
            raise ValueError(f"{self.name} is no reason to wait")
        return self._reason


WAITS = tuple(wait for wait in Wait if wait is not Wait.RUNS)
"""All codes of jobs that wait."""
COMPARISONS = tuple(wait for wait in WAITS if wait.reason.compares)
"""Codes with a `measure` and a `bar`: the number by which the policy compares jobs, and that of the
last job that it chose, unless `compares` states another."""

QUEUE_WAITS = (Wait.QUEUE_LIMIT, Wait.QUEUE_GUARANTEE, Wait.QUEUE_HELD)
"""Codes of jobs that wait for the limits of their queue."""
FOR_GPUS = (
    *(Wait.TOO_FEW_GPUS, Wait.BEHIND_HEAD, Wait.LESS_PROGRESS, Wait.MORE_LEFT),
    *(Wait.SHARE, Wait.OUTBID, Wait.LEFT_UNKNOWN, Wait.FALL_UNKNOWN),
)
"""Codes of a policy for jobs that could run on GPUs which it gave to other jobs."""


def wait_named(key: str) -> Wait:
    """The code of a name in files. Raises ValueError for an unknown one."""
    for wait in WAITS:
        if wait.key == key:
            return wait
    raise ValueError(f"unknown reason to wait {key!r}")
