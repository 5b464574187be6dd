"""`motet.Client`: the live cluster for programs and notebooks."""

from __future__ import annotations

import codecs
import math
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from numbers import Integral, Real
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from motet.domain.errors import BadInput, MotetError
from motet.interfaces.client import LiveClient
from motet.interfaces.job_files import home_of, read_job_file, resolved_folder
from motet.interfaces.live_cluster.answers import ChosenPolicy, JobExplanation, SubmittedJob
from motet.interfaces.live_cluster.log_reading import LogChunk, ProcessLog
from motet.interfaces.live_cluster.snapshots import with_snapshot
from motet.interfaces.python_messages import python_items, python_methods
from motet.interfaces.server_address import ServerAddress

if TYPE_CHECKING:
    import pandas as pd

JobId: TypeAlias = int | str | SubmittedJob
_TIMES = ("submitted_at", "started_at", "ended_at")


class WaitTimedOut(MotetError, TimeoutError):
    """The job has not ended in the time that `Client.wait` was given."""


@python_methods
class Client:
    """The live cluster that a server runs. Close it, or use it in a `with` statement.

    Every method raises Unreachable, AuthenticationFailed, NotFound or BadInput, all of them
    MotetError, with the server's message. Not safe for threads.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        state_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        """`url`: of the server; None: MOTET_SERVER, or the one that this user runs here.

        `token`: None: MOTET_TOKEN, or the token of that server. `state_dir`: its state folder.
        """
        self._live = LiveClient(_address(url, token, state_dir))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._live.__exit__(None, None, None)

    # -- jobs --------------------------------------------------------------------------------------

    def submit(
        self, file: str | os.PathLike[str] | None = None, *, key: str = "", **values: Any
    ) -> SubmittedJob:
        """Submit a job, or an array of jobs: the values of a job file, and those given by name.

        Durations are seconds, or texts with a unit such as `max_duration="2h"`. `key`: a repeated
        call with the same key returns the same job. `workdir` is the folder of the file, else the
        present one; `name` that of the file, of the program or of the application.
        """
        if file is not None and not isinstance(file, str | os.PathLike):
            raise BadInput(f"file={file!r:.60}: give the path of a job file")
        _require_text("key", key)
        path = None if file is None else Path(file)
        wanted = {**(read_job_file(path) if path else {}), **values}
        home = Path.cwd() if "workdir" in values else home_of(path)
        wanted["workdir"] = resolved_folder(home, wanted.get("workdir", "."))
        wanted.setdefault("name", _name(path, wanted))
        wanted = with_snapshot(self._live, wanted, on_sending=lambda _: None)
        return SubmittedJob.of(self._live.submit(wanted, key or uuid.uuid4().hex))

    def job(self, job: JobId) -> SubmittedJob:
        """A job with its attempts, or an array."""
        return SubmittedJob.of(self._live.job(_id(job)))

    def jobs(self, states: Sequence[str] = (), array: JobId | None = None) -> pd.DataFrame:
        """A row per job, indexed by `id`; an array is one row. `states`: only jobs in one of these.

        `array`: the jobs of this one.
        """
        from pandas import DataFrame, to_datetime

        chosen = None if array is None else _id(array, "array")
        if isinstance(states, str):
            raise BadInput(f"states={states!r:.60}: give a list, [{states!r:.60}]")
        if not isinstance(states, Iterable) or not all(isinstance(it, str) for it in states):
            raise BadInput(f"states={states!r:.60}: give a list of states, such as ['RUNNING']")
        found = DataFrame([*self._live.jobs(tuple(states), chosen)], columns=list(_COLUMNS))
        for name in _TIMES:
            found[name] = to_datetime(found[name], format="ISO8601", utc=True)
        return found.astype({"id": "int64"}).set_index("id")

    def wait(self, job: JobId, timeout_s: float = math.inf) -> SubmittedJob:
        """The job when it has ended, or the array when all of its jobs have. Raises WaitTimedOut.

        Whether it has succeeded is for the caller to ask: see `has_succeeded`.
        """
        _require_seconds("timeout_s", timeout_s)
        ends_s = time.monotonic() + timeout_s
        found = SubmittedJob.of(self._live.wait(_id(job), 0.0))
        while not found.has_ended:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                raise WaitTimedOut(f"job {found.id} is {found.state} after {timeout_s:g} s")
            found = SubmittedJob.of(self._live.wait(_id(job), left_s))
        return found

    def logs(self, job: JobId, *, rank: int = 0, attempt: int = 0) -> str:
        """What a process has written until now. `attempt`: 0 is the last one."""
        return "".join(_text(self._log(job, rank).until_now(attempt)))

    def follow(self, job: JobId, *, rank: int = 0, attempt: int = 0) -> Iterator[str]:
        """Parts of the log as it grows. `attempt`: 0 is the last one and those that follow it, on
        whatever machine, until the job has ended."""
        return python_items(_text(self._log(job, rank).until_end(attempt)))

    def cancel(self, job: JobId) -> SubmittedJob:
        """Stop the processes of a job, or of all jobs of an array, for good."""
        return self._change(job, "cancel")

    def suspend(self, job: JobId) -> SubmittedJob:
        """Stop the processes of a job until it is resumed."""
        return self._change(job, "suspend")

    def resume(self, job: JobId) -> SubmittedJob:
        """Let a suspended job wait for slots again."""
        return self._change(job, "resume")

    def update(
        self, job: JobId, *, priority: int | None = None, queue: str | None = None
    ) -> SubmittedJob:
        """Give a job another priority or queue; it keeps its time of submission."""
        return SubmittedJob.of(self._live.update(_id(job), priority, queue))

    def explain(self, job: JobId) -> JobExplanation:
        """Why a job waits, where it ran and why it was preempted."""
        return JobExplanation.of(int(_id(job)), self._live.explain(_id(job)))

    # -- the cluster -------------------------------------------------------------------------------

    def machines(self) -> pd.DataFrame:
        """A row per machine, indexed by `name`: slots, those in use, state."""
        return _frame(self._live.machines(), ("name", "slots", "used_slots", "state"))

    def queues(self) -> pd.DataFrame:
        """A row per queue, indexed by `name`: slots in use, running and waiting jobs."""
        return _frame(self._live.queues(), ("name", "slots", "running", "waiting"))

    def policy(self) -> ChosenPolicy:
        """The policy in force."""
        return ChosenPolicy.of(self._live.policy())

    # -- parts -------------------------------------------------------------------------------------

    def _change(self, job: JobId, verb: str) -> SubmittedJob:
        return SubmittedJob.of(self._live.change(_id(job), verb))

    def _log(self, job: JobId, rank: int) -> ProcessLog:
        return ProcessLog(self._live, _id(job), rank)


_COLUMNS = (
    *("id", "name", "user", "queue", "priority", "kind", "processes", "state", "reason"),
    *("array", "index", "attempts", *_TIMES),
)


def _text(chunks: Iterator[LogChunk]) -> Iterator[str]:
    """Whole characters: one that ends in the next chunk is kept back."""
    for _, found in groupby(chunks, lambda chunk: chunk.attempt):
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        yield from filter(None, (decoder.decode(chunk.data) for chunk in found))
        if rest := decoder.decode(b"", final=True):
            yield rest


def _address(
    url: str | None, token: str | None, state_dir: str | os.PathLike[str] | None
) -> ServerAddress:
    if url is not None and not isinstance(url, str):
        raise BadInput(f"url={url!r:.60}: give the address of the server, 'http://HOST:PORT'")
    if token is not None:
        _require_text("token", token)
    if state_dir is not None and not isinstance(state_dir, str | os.PathLike):
        raise BadInput(f"state_dir={state_dir!r:.60}: give the path of the server's state folder")
    folder = None if state_dir is None else Path(state_dir)
    if url is not None and token is not None:
        return ServerAddress.given(url, token)
    address = ServerAddress.find(url, folder)
    return address if token is None else ServerAddress(address.url, token)


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise BadInput(f"{name}={value!r:.60}: give a text")


def _require_seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(float(value)):
        raise BadInput(f"{name}={value!r:.60}: give seconds, or math.inf")


def _id(job: JobId, name: str = "job") -> str:
    if isinstance(job, bool) or not isinstance(job, Integral | str | SubmittedJob):
        raise BadInput(f"{name}={job!r:.60}: give the id of a job, or a job that submit returned")
    return str(job.id) if isinstance(job, SubmittedJob) else str(job)


def _name(path: Path | None, values: Mapping[str, Any]) -> str:
    if path is not None:
        return path.stem
    if "app" in values:
        return Path(str(values["app"])).stem
    run = values.get("run")
    if not run:
        raise BadInput("job: give a job file, run='...' or app='...'")
    if not isinstance(run, str | Sequence):
        raise BadInput(
            f"run={run!r:.60}: give a command ('python train.py') or a list of its words"
        )
    words = run.split() if isinstance(run, str) else [str(each) for each in run]
    return os.path.basename(words[0]) if words else "job"


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    from pandas import DataFrame

    return DataFrame(rows, columns=list(columns)).set_index(columns[0])
