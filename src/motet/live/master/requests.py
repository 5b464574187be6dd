"""Requests to the launcher: what the attempts of the state require. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from motet.aggregation.wire.job_credentials import JobCredential
from motet.aggregation.wire.pool_address import ADDRESS_VARIABLE, FIRST_WORLD_SIZE
from motet.live.jobs.attempt import Attempt, AttemptPhase
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import CommandSpec
from motet.live.launcher.leftovers import MARK
from motet.live.launcher.messages import LauncherRequest, RankTask, StartAttempt, StopAttempt
from motet.live.launcher.rank_files import ARBITER, CHECKPOINT_FOLDER
from motet.live.master.state import LiveState
from motet.live.slots.devices import devices_text
from motet.live.slots.roster import Roster
from motet.live.time_limits.time_limit import grace_s
from motet.live.workdirs.digest import archive_path
from motet.remote_memory.device.lender_access import ADDRESS_VARIABLE as ADDRESS_OF_LENDERS
from motet.remote_memory.device.lender_access import job_variables


@dataclass(frozen=True, slots=True)
class TrainingProgram:
    """The program of every process of a training; its last argument is the specification in JSON.

    `env`: variables that it needs.
    """

    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PoolAccess:
    """The pool of Aggregators of the cluster. `address`: its address file. `secret`: of the pool,
    from which those of the jobs follow."""

    address: str
    secret: bytes


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """What the cluster lends. `address`: the file of its lenders. `secret`: of the lenders, from
    which those of the jobs follow."""

    address: Path
    secret: bytes


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where attempts run. `folder`: state of the server. `env`: variables that every job gets.

    `lease_s`: how long processes run on without the launcher. `pool`: None: the cluster has none.
    `memory`: None: it lends none.
    """

    folder: Path
    env: Mapping[str, str]
    training: TrainingProgram = TrainingProgram()
    lease_s: float = 600.0
    pool: PoolAccess | None = None
    memory: MemoryAccess | None = None

    def attempt_folder(self, job: int, attempt: int) -> Path:
        """Logs and records of one attempt."""
        return self.folder / "attempts" / str(job) / str(attempt)

    def checkpoint_folder(self, job: int) -> Path:
        """The same for all attempts of a job."""
        return self.folder / "checkpoints" / str(job)

    def results_folder(self, job: int) -> Path:
        """What a finished training leaves."""
        return self.folder / "results" / str(job)

    def arbiter(self, machine: str) -> Path:
        """Where the arbiter of a machine listens, for trainings that may share it."""
        return self.folder / "arbiters" / machine

    @property
    def snapshots_folder(self) -> Path:
        """The archives of snapshots."""
        return self.folder / "snapshots"

    def working_folder(self, job: LiveJob) -> Path:
        """Where its processes start: its copy of the snapshot, or the folder of the user."""
        if not job.spec.digest:
            return Path(job.spec.workdir)
        return self.folder / "workdirs" / str(job.number)


def requests_of(state: LiveState, workplace: Workplace) -> list[LauncherRequest]:
    """Everything that the launcher should do now; it ignores what it does already."""
    requests: list[LauncherRequest] = []
    for number in sorted(state.active):
        requests += requests_of_job(state, state.active[number], workplace)
    return requests


def requests_of_job(state: LiveState, job: LiveJob, workplace: Workplace) -> list[LauncherRequest]:
    """The start of the present attempt, and its stop."""
    attempt = job.attempt
    if attempt is None:
        return []
    requests: list[LauncherRequest] = [_start(state, job, attempt, workplace)]
    if attempt.phase is AttemptPhase.STOPPING:
        number = job.spec.preempt.number
        requests.append(StopAttempt(attempt_id(job, attempt), number, attempt.grace_s))
    return requests


def attempt_id(job: LiveJob, attempt: Attempt) -> str:
    """`JOB.NUMBER`, of the attempt with which the processes began."""
    return f"{job.number}.{attempt.began}"


def rank_machines(state: LiveState, job: LiveJob, attempt: Attempt) -> list[str]:
    """The machine of each process that there is or was."""
    assert state.cluster is not None
    if attempt.roster is not None:
        return [state.cluster.names[machine] for machine in attempt.roster.machines]
    return [
        state.cluster.names[machine]
        for machine, count in zip(*attempt.placement, strict=True)
        for _ in range(1 if job.spec.is_by_machine else count)
    ]


def _start(state: LiveState, job: LiveJob, attempt: Attempt, workplace: Workplace) -> StartAttempt:
    machines = rank_machines(state, job, attempt)
    preempt, checkpoints = job.spec.preempt, workplace.checkpoint_folder(job.number)
    argv, env = _program(job, attempt, workplace)
    folder = str(workplace.attempt_folder(job.number, attempt.began))
    roster = attempt.roster or Roster((), 0)
    cwd, digest = str(workplace.working_folder(job)), job.spec.digest
    return StartAttempt(
        attempt_id(job, attempt),
        folder,
        tuple(
            RankTask(
                machines[rank],
                argv,
                cwd,
                {
                    **workplace.env,
                    **_variables(job, attempt, machines, rank, checkpoints),
                    **_thread_variables(state, job, machines[rank]),
                    **_gpu_variables(state, attempt, machines[rank]),
                    **_arbiter_variable(job, machines[rank], workplace),
                    **_pool_variables(job, attempt, workplace),
                    **_memory_variables(job, attempt, workplace),
                    **env,
                    MARK: folder,
                },
                int(job.spec.memory or 0),
            )
            for rank in range(len(machines))
        ),
        preempt.number,
        grace_s(job.spec),
        workplace.lease_s,
        str(archive_path(workplace.snapshots_folder, digest)) if digest else "",
        joined=roster.joined,
        dismissed=roster.dismissed,
    )


def _program(
    job: LiveJob, attempt: Attempt, workplace: Workplace
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command of every process, and variables that its kind of job needs."""
    spec = job.spec
    if isinstance(spec, CommandSpec):
        return spec.argv, {}
    machines = len(attempt.placement.machines)
    roles = (machines, machines) if job.spec.is_by_machine else (attempt.workers, attempt.servers)
    variables = {
        "MOTET_ATTEMPT_DIR": str(workplace.attempt_folder(job.number, attempt.number)),
        "MOTET_RESULTS_DIR": str(workplace.results_folder(job.number)),
        "MOTET_WORKERS": str(roles[0]),
        "MOTET_SERVERS": str(roles[1]),
    }
    if attempt.is_asynchronous:
        variables["MOTET_CONSISTENCY"] = "async"
    argv = (*workplace.training.argv, spec.model_dump_json(exclude_defaults=True))
    return argv, {**workplace.training.env, **variables}


def _arbiter_variable(job: LiveJob, machine: str, workplace: Workplace) -> dict[str, str]:
    return {ARBITER: str(workplace.arbiter(machine))} if job.spec.is_by_machine else {}


def _pool_variables(job: LiveJob, attempt: Attempt, workplace: Workplace) -> dict[str, str]:
    """How the processes of a command find the pool, unless its user named another one."""
    pool = workplace.pool
    if pool is None or not isinstance(job.spec, CommandSpec) or ADDRESS_VARIABLE in job.spec.envs:
        return {}
    credential = JobCredential.derived(pool.secret, name_in_pool(job, attempt))
    return {ADDRESS_VARIABLE: pool.address, **credential.variables}


def _memory_variables(job: LiveJob, attempt: Attempt, workplace: Workplace) -> dict[str, str]:
    """How processes find lenders, unless their user named others."""
    memory = workplace.memory
    if memory is None or ADDRESS_OF_LENDERS in job.spec.envs:
        return {}
    return job_variables(memory.address, memory.secret, name_in_pool(job, attempt))


def _variables(
    job: LiveJob, attempt: Attempt, machines: list[str], rank: int, checkpoints: Path
) -> dict[str, str]:
    """Defaults, variables of the user, then those of Motet, then those of torchrun.

    A process knows of those that began with it, and those before: not of who joins later.
    """
    roster, machine = attempt.roster, machines[rank]
    if roster is not None and rank < roster.first:
        machines = machines[: roster.first]
    world = str(len(machines))
    local = [each for each in range(len(machines)) if machines[each] == machine]
    return {
        **_tracking_variables(job),
        **job.spec.envs,
        "MOTET_JOB_ID": str(job.number),
        "MOTET_JOB_NAME": job.spec.name,
        "MOTET_RUN_ID": run_id(job),
        **_array_variables(job),
        **({"MOTET_TRIAL": "1"} if job.trial_s else {}),
        "MOTET_ATTEMPT_NUMBER": str(attempt.began),
        "MOTET_RANK": str(rank),
        "MOTET_WORLD_SIZE": world,
        **({} if roster is None else {FIRST_WORLD_SIZE: str(roster.first)}),
        "MOTET_ROLE": "worker",
        CHECKPOINT_FOLDER: str(checkpoints),
        "MOTET_SUBMIT_DIR": job.spec.workdir,
        "RANK": str(rank),
        "WORLD_SIZE": world,
        "LOCAL_RANK": str(local.index(rank)),
        "LOCAL_WORLD_SIZE": str(len(local)),
        "GROUP_RANK": str(list(dict.fromkeys(machines)).index(machine)),
    }


def _thread_variables(state: LiveState, job: LiveJob, machine: str) -> dict[str, str]:
    """A thread per CPU of the process: those that it requests, or its slot's part of the machine.

    The variable of the user counts.
    """
    assert state.cluster is not None
    number = state.cluster.names.index(machine)
    of_slot = state.cluster.cpus_of(number) // state.cluster.slots[number]
    return {
        "OMP_NUM_THREADS": job.spec.envs.get(
            "OMP_NUM_THREADS", str(job.spec.cpus or max(1, of_slot))
        )
    }


def _gpu_variables(state: LiveState, attempt: Attempt, machine: str) -> dict[str, str]:
    """All GPUs of the gang on the machine, in the same order for each process, as torchrun has it:
    a process uses the one at LOCAL_RANK."""
    names = [name for name, _ in state.machines_of(attempt)]
    devices = attempt.devices[names.index(machine)] if attempt.devices else ()
    if not devices:
        return {}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": devices_text(devices)}


def run_id(job: LiveJob) -> str:
    """For trackers of experiments: the same in all attempts, another one in every cluster."""
    return f"motet-{job.number}-{job.submitted_us:x}"


def name_in_pool(job: LiveJob, attempt: Attempt) -> str:
    """Of what an attempt has on Aggregators and lenders; the next attempt begins anew, unless it is
    a resize that leaves processes running."""
    return f"{run_id(job)}.{attempt.began}"


def _tracking_variables(job: LiveJob) -> dict[str, str]:
    """A later attempt continues the run of Weights & Biases that the first one began."""
    group = {} if job.array is None else {"WANDB_RUN_GROUP": job.array.name}
    return {
        "WANDB_RUN_ID": run_id(job),
        "WANDB_RESUME": "allow",
        "WANDB_NAME": job.spec.name,
        **group,
    }


def _array_variables(job: LiveJob) -> dict[str, str]:
    if job.array is None:
        return {}
    return {
        "MOTET_ARRAY_ID": str(job.array.number),
        "MOTET_ARRAY_INDEX": str(job.index),
        "MOTET_ARRAY_COUNT": str(len(job.array.jobs)),
    }
