"""What `motet.Client` does with the cluster: machines, queues, policy, history."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.domain.errors import BadInput
from motet.engine.policy_loading.setting_texts import setting_text
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.arguments import (
    JobId,
    job_id,
    queue_limits,
    require_seconds,
    require_text,
    require_texts,
)
from motet.interfaces.live_cluster.cluster_answers import (
    AGGREGATOR_COLUMNS,
    BORROWER_COLUMNS,
    LENDER_COLUMNS,
    MACHINE_COLUMNS,
    POOL_JOB_COLUMNS,
    QUEUE_COLUMNS,
    TENSOR_COLUMNS,
    ChosenPolicy,
    ClusterMachine,
    ClusterQueue,
    machine_row,
)
from motet.interfaces.live_cluster.forecast_answers import PolicyReplay
from motet.interfaces.live_cluster.frames import accounting_frame, indexed_frame, turns_frame
from motet.interfaces.live_cluster.moments import Moment, period_begin, time_to_come
from motet.interfaces.live_cluster.policy_request import policy_request
from motet.interfaces.python_messages import python_methods

if TYPE_CHECKING:
    import pandas as pd


@python_methods
class ClusterCalls:
    """Machines, queues, the policy, usage and accounting."""

    _live: LiveClient

    def machines(self) -> pd.DataFrame:
        """A row per machine, indexed by `name`: the fields of `ClusterMachine`."""
        return indexed_frame(map(machine_row, self._live.machines()), MACHINE_COLUMNS, "name")

    def aggregators(self) -> pd.DataFrame:
        """The cluster's pool of Aggregators: a row per Aggregator, indexed by `number`.

        `used_share`: of its cycle, by the jobs whose tensors it serves; `jobs`: their numbers;
        `link_share`: of its cycle, in which its link is busy (0: links are not limited).
        """
        rows = [
            {**each, "jobs": [int(job) for job in each["job_ids"]]}
            for each in self._live.aggregation()["aggregators"]
        ]
        return indexed_frame(rows, AGGREGATOR_COLUMNS, "number")

    def aggregator_jobs(self) -> pd.DataFrame:
        """The jobs that use the pool, with their speed and what they lose of it: indexed by `name`
        in the pool; `id` is the number of the job in the cluster."""
        return indexed_frame(self._live.aggregation()["jobs"], POOL_JOB_COLUMNS, "name")

    def tensors(self, job: JobId) -> pd.DataFrame:
        """On which Aggregator each tensor of a job is, and why: indexed by `name`."""
        rows = self._live.tensors(job_id(job))["tensors"]
        return indexed_frame(rows, TENSOR_COLUMNS, "name")

    def lenders(self) -> pd.DataFrame:
        """The memory that the cluster's machines lend: a row per lender, indexed by `machine`.

        `jobs`: the numbers of those that have slabs there. Of a lender that does not answer
        (`is_running`), `reason` says why, and counts are 0.
        """
        rows = [
            {**each, "jobs": [int(job) for job in each["job_ids"]]}
            for each in self._live.memory()["lenders"]
        ]
        return indexed_frame(rows, LENDER_COLUMNS, "machine")

    def borrowers(self) -> pd.DataFrame:
        """The jobs that run and borrow memory, or have borrowed: indexed by `id`. `machines`: slabs
        by machine."""
        rows = [{**each, "id": int(each["id"])} for each in self._live.memory()["jobs"]]
        return indexed_frame(rows, BORROWER_COLUMNS, "id")

    def drain_machine(self, name: str, reason: str, at: Moment | None = None) -> ClusterMachine:
        """Let a machine take no further jobs; those that it has run on. `reason`: for all who see
        the machine. `at`: from then on; None: at once."""
        require_text("name", name)
        when = time_to_come("at", at)
        return ClusterMachine.of(self._live.drain_machine(name, reason, when))

    def resume_machine(self, name: str) -> ClusterMachine:
        """Let a drained machine take jobs again, or cancel a planned drain."""
        require_text("name", name)
        return ClusterMachine.of(self._live.resume_machine(name))

    def machine_subtasks(self, name: str, seconds: float = 1.0) -> pd.DataFrame:
        """What jobs that share a machine held its CPU and network for: a row per turn with `job`,
        `kind` (comp, pull or push), `start` and `end`. `seconds`: of the record, up to its end; at
        most 60. Without rows: no job has shared the machine."""
        require_text("name", name)
        require_seconds("seconds", seconds)
        return turns_frame(self._live.machine_subtasks(name, seconds)["turns"])

    def queues(self) -> pd.DataFrame:
        """A row per queue, indexed by `name`: the fields of `ClusterQueue`."""
        return indexed_frame(self._live.queues(), QUEUE_COLUMNS, "name")

    def queue(self, name: str) -> ClusterQueue:
        """A queue: its limits, what it holds, and its mode."""
        require_text("name", name)
        return ClusterQueue.of(self._live.queue(name))

    def create_queue(
        self,
        name: str,
        *,
        guarantee: int | None = None,
        borrow: float | None = None,
        lend: float | None = None,
    ) -> ClusterQueue:
        """Create a queue; if it exists, change the limits that are given.

        `guarantee`: slots that it gets back from others when its jobs need them. `borrow`: slots
        that it holds at most beyond its guarantee. `lend`: slots of its guarantee that others hold
        at most. None: as it is; math.inf: no limit.
        """
        require_text("name", name)
        limits = queue_limits(guarantee=guarantee, borrow=borrow, lend=lend)
        return ClusterQueue.of(self._live.create_queue(name, limits))

    def limit_queue(
        self,
        name: str,
        *,
        guarantee: int | None = None,
        borrow: float | None = None,
        lend: float | None = None,
    ) -> ClusterQueue:
        """Change limits of a queue; arguments as those of `create_queue`."""
        require_text("name", name)
        limits = queue_limits(guarantee=guarantee, borrow=borrow, lend=lend)
        if not limits:
            raise BadInput("give guarantee, borrow or lend")
        return ClusterQueue.of(self._live.limit_queue(name, limits))

    def hold_queue(self, name: str) -> ClusterQueue:
        """Start no jobs of a queue; those that run go on."""
        return self._queue_mode(name, "hold")

    def drain_queue(self, name: str) -> ClusterQueue:
        """Refuse further jobs of a queue; those that are in it wait and run as before."""
        return self._queue_mode(name, "drain")

    def resume_queue(self, name: str) -> ClusterQueue:
        """Let a queue take and start jobs again."""
        return self._queue_mode(name, "resume")

    def delete_queue(self, name: str) -> None:
        """Delete a queue without jobs."""
        require_text("name", name)
        self._live.delete_queue(name)

    def policy(self) -> ChosenPolicy:
        """The policy in force."""
        return ChosenPolicy.of(self._live.policy())

    def set_policy(self, policy: str | os.PathLike[str], **parameters: Any) -> ChosenPolicy:
        """Put another policy in force, a name or a file `./mine.py`, or the same one with other
        parameters; those that are not given have their defaults. Jobs keep their place.

        `parameters`: as `motet policy describe NAME` lists them.
        """
        name, settings = _policy(policy, parameters)
        return ChosenPolicy.of(self._live.choose_policy(name, settings))

    def what_if(
        self, policy: str | os.PathLike[str], *, since: Moment | None = None, **parameters: Any
    ) -> PolicyReplay:
        """The jobs of the cluster simulated under another policy, with the run times that were
        measured. `since`: with the jobs from then on; None: all. `parameters`: of the policy."""
        name, settings = _policy(policy, parameters)
        begin = period_begin("since", since)
        return PolicyReplay.of(self._live.what_if(name, settings, begin))

    def usage(self, by: Iterable[str] = (), since: Moment | None = None) -> pd.DataFrame:
        """Slot-hours, jobs, waits, preemptions and borrowed memory, a row per user, queue and month
        (UTC), or per what `by` names of these. `since`: from then on; None: all."""
        from pandas import DataFrame

        require_texts("by", by, "user")
        found = self._live.usage(by, period_begin("since", since))
        keys = [*found["by"]]
        numbers = ("jobs", "started", "slot_hours", "mean_wait_s", "median_wait_s", "preemptions")
        columns = [*keys, *numbers, "borrowed_gb_hours"]
        return DataFrame(found["rows"], columns=columns)

    def accounting(self, since: Moment | None = None) -> pd.DataFrame:
        """Accounting records with the columns of Slurm's sacct, a row per attempt; times in UTC.

        `since`: jobs submitted from then on; None: all. `motet.simulate` reads what `export` wrote.
        """
        return accounting_frame(self._live.accounting(period_begin("since", since)))

    def export(self, file: str | os.PathLike[str], since: Moment | None = None) -> None:
        """Write accounting records, as `sacct --parsable2` prints them; what is there is replaced.
        Raises OSError."""
        lines = self._live.accounting(period_begin("since", since))
        Path(file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def metrics(self) -> str:
        """The figures of the server in the text format of Prometheus."""
        return self._live.metrics()

    def _queue_mode(self, name: str, verb: str) -> ClusterQueue:
        require_text("name", name)
        return ClusterQueue.of(self._live.set_queue_mode(name, verb))


def _policy(
    policy: str | os.PathLike[str], parameters: dict[str, Any]
) -> tuple[str, dict[str, str]]:
    """Raises BadInput."""
    if not isinstance(policy, str | os.PathLike):
        raise BadInput(f"policy={policy!r:.60}: give a name ('fifo') or a file ('./mine.py')")
    texts = {name: setting_text(value) for name, value in parameters.items()}
    return policy_request(os.fspath(policy), texts)
