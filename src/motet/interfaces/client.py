"""A client of the live cluster's HTTP interface."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, NamedTuple, Self
from urllib.parse import quote

import httpx

from motet.domain.errors import BadInput, NotFound, Unreachable
from motet.interfaces.api_access.account_requests import AccountRequests
from motet.interfaces.api_access.api_requests import (
    KEY_HEADER,
    TIMEOUT_S,
    AnswerLost,
    answered_error,
    patience,
)

_WAIT_S = 30.0
_SIMULATION_S = 1300.0
"""The simulation of another client may come first."""
_COMPILATION_S = 600.0
"""Of a policy, once after an installation."""
_JOB = re.compile("[0-9]{1,18}")
_LONGEST_KEY = 200
_JSON_BODY = {"Content-Type": "application/json"}


class LogReply(NamedTuple):
    """Bytes of the log of a process in an attempt, and the offset behind them.

    `is_complete`: nothing more will follow, in this attempt or, if the last one was asked for, in
    the job. `size`: of the log when the server answered; None: the server is older than that.
    """

    data: bytes
    next_offset: int
    is_complete: bool
    attempt: int
    size: int | None

    @classmethod
    def of(cls, answer: httpx.Response) -> Self:
        """Raises KeyError, ValueError."""
        told = answer.headers
        return cls(
            answer.content,
            int(told["Motet-Next-Offset"]),
            told["Motet-Log-Complete"] == "true",
            int(told["Motet-Attempt"]),
            int(told["Motet-Log-Size"]) if "Motet-Log-Size" in told else None,
        )


class LiveClient(AccountRequests):
    """Requests to one server. Every method raises Unreachable, AuthenticationFailed, NotFound or
    BadInput with the server's message."""

    def submit(self, spec: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """Submit a job. `key`: a repeated request with the same key returns the same job."""
        if len(key) > _LONGEST_KEY or not (key.isascii() and key.isprintable()):
            raise BadInput(f"--key {key[:20]!r}: give at most {_LONGEST_KEY} characters of ASCII")
        headers = _JSON_BODY | ({KEY_HEADER: key} if key else {})
        try:
            return self.ask("POST", "/jobs", content=_body(spec), headers=headers)
        except AnswerLost as error:
            again = f"give --key {key} to submit it once" if key else "see the list of jobs"
            raise AnswerLost(f"{error}; the job may have been submitted: {again}") from error

    def has_snapshot(self, digest: str) -> bool:
        """Whether the server has the archive of a snapshot."""
        try:
            return bool(self.ask("GET", f"/snapshots/{digest}"))
        except NotFound:
            return False

    def send_snapshot(self, digest: str, archive: IO[bytes], size: int) -> None:
        """Send the archive of a snapshot. `size`: in bytes."""
        headers = {"Content-Length": str(size), "Content-Type": "application/x-tar"}
        self.ask("PUT", f"/snapshots/{digest}", content=archive, headers=headers)

    def dry_run(
        self, spec: Mapping[str, Any], tell: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """When the job would start, and which jobs would end later; nothing is submitted. `tell`:
        is called with what is being simulated."""
        content, timeout = _body(spec), patience(_SIMULATION_S)
        arguments = {"content": content, "headers": _JSON_BODY, "timeout": timeout}
        if tell is None:
            return self.ask("POST", "/dry-run", **arguments)
        return self.ask_telling("POST", "/dry-run", tell, **arguments)

    def health(self) -> tuple[dict[str, Any], str | None]:
        """The version of the server, and the date of its answer by its own clock."""
        answer = self.answer_to("GET", "/health")
        try:
            return dict(answer.json()), answer.headers.get("date")
        except ValueError as error:
            raise self.no_server() from error

    def checkup(self) -> dict[str, Any]:
        """What the server and its machines run. Raises NotFound for an earlier server."""
        return self.ask("GET", "/checkup")

    def jobs(
        self,
        states: tuple[str, ...] = (),
        array: str | None = None,
        after: str = "0",
        **more: str | None,
    ) -> Iterator[dict[str, Any]]:
        """All jobs, or those in one of the states, in the order of their ids.

        `array`: the jobs of this one; "0": all jobs; None: an array is a row. `after`: only those
        with larger ids. `more`: see `job_pages`.
        """
        for page in self.job_pages(states, array, after, **more):
            yield from page["jobs"]

    def job_pages(
        self,
        states: tuple[str, ...] = (),
        array: str | None = None,
        after: str = "0",
        **more: str | None,
    ) -> Iterator[dict[str, Any]]:
        """Pages of `jobs`. `more`: `user`, `queue`, and `ended_since` (ISO 8601 with a zone), which
        leaves out jobs that ended before; `hidden` of a page counts these. None: all."""
        begin: str | None = after
        only = {name: value for name, value in more.items() if value is not None}
        only |= {} if array is None else {"array": _number(array)}
        while begin is not None:
            query = {"state": list(states), "after": begin, **only}
            page = self.ask("GET", "/jobs", params=query)
            yield page
            begin = page["next"]

    def changes(self) -> Iterator[None]:
        """Once when this begins, then after changes of jobs or machines, at most twice a second.
        Ends with the server."""
        try:
            with self._http.stream("GET", "/events", timeout=patience(TIMEOUT_S)) as answer:
                if not answer.is_success:
                    answer.read()
                    raise answered_error(answer)
                for line in answer.iter_lines():
                    if line == "event: changed" or line.startswith("retry:"):
                        yield
        except httpx.HTTPError as error:
            raise Unreachable(f"{self.url} does not answer any more ({error})") from error

    def metrics(self) -> str:
        """What /metrics has, in the text format of Prometheus."""
        return self.answer_to("GET", f"{self.url}/metrics").text

    def job(self, job: str) -> dict[str, Any]:
        """A job with its specification and attempts."""
        return self.ask("GET", _path(job))

    def explain(self, job: str) -> dict[str, Any]:
        """Why a job waited and where it ran: the fields of `motet explain --json`."""
        return self.ask("GET", f"{_path(job)}/explain")

    def aggregation(self) -> dict[str, Any]:
        """The cluster's pool of Aggregators and the jobs on it. Raises NotFound: it has none."""
        return self.ask("GET", "/aggregation")

    def memory(self) -> dict[str, Any]:
        """What the cluster's machines lend, and the jobs that borrow. Raises NotFound: none is."""
        return self.ask("GET", "/memory")

    def tensors(self, job: str) -> dict[str, Any]:
        """On which Aggregator each tensor of a job is, and why. Raises NotFound: it has none."""
        return self.ask("GET", f"{_path(job)}/tensors")

    def prediction_coverage(self) -> dict[str, Any] | None:
        """How many starts were within the ranges predicted for them; None: none was predicted."""
        found: dict[str, Any] | None = self.ask("GET", "/predictions")["coverage"]
        return found

    def change(self, job: str, verb: str) -> dict[str, Any]:
        """Cancel, suspend or resume a job."""
        return self.ask("POST", f"{_path(job)}/{verb}")

    def policy(self) -> dict[str, Any]:
        """The policy in force and its parameters."""
        return self.ask("GET", "/policy")

    def choose_policy(self, policy: str, settings: Mapping[str, str]) -> dict[str, Any]:
        """Put another policy in force; `settings`: its parameters as text."""
        body = {"policy": policy, "settings": dict(settings)}
        return self.ask("PUT", "/policy", json=body, timeout=patience(_COMPILATION_S))

    def what_if(
        self, policy: str, settings: Mapping[str, str], since: str | None = None
    ) -> dict[str, Any]:
        """The journal replayed under another policy: the fields of `motet whatif --json`.

        `since`: ISO 8601 with a zone; None: all jobs.
        """
        body = {"policy": policy, "settings": dict(settings), "since": since}
        return self.ask("POST", "/whatif", json=body, timeout=patience(_SIMULATION_S))

    def usage(self, by: Iterable[str] = (), since: str | None = None) -> dict[str, Any]:
        """Slot-hours, jobs, waits and preemptions: the fields of `motet usage --json`.

        `by`: user, queue, month; empty: all. `since`: ISO 8601 with a zone; None: all.
        """
        query: dict[str, Any] = {"by": [*by]} | ({"since": since} if since else {})
        return self.ask("GET", "/usage", params=query)

    def accounting(self, since: str | None = None) -> Iterator[str]:
        """The header and the lines of accounting records, as `sacct --parsable2` prints them.

        `since`: ISO 8601 with a zone; None: all jobs.
        """
        after: int | None = 0
        while after is not None:
            query = {"after": after} | ({"since": since} if since else {})
            part = self.ask("GET", "/accounting", params=query)
            if not after:
                yield "|".join(part["fields"])
            yield from part["lines"]
            after = part["next"]

    def update(self, job: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Give a job another `priority`, `queue` or `max_duration` (None: no limit); what is not
        among `changes` stays, and so does its time of submission."""
        return self.ask("PATCH", _path(job), json=dict(changes))

    def queues(self) -> list[dict[str, Any]]:
        """The queues, and what their jobs hold."""
        return list(self.ask("GET", "/queues")["queues"])

    def queue(self, name: str) -> dict[str, Any]:
        """A queue."""
        return self.ask("GET", _queue_path(name))

    def create_queue(
        self, name: str, limits: Mapping[str, int | None] | None = None
    ) -> dict[str, Any]:
        """Create a queue, or change the limits of one that exists. `limits`: keys of a queue file;
        None: without this limit."""
        return self.ask("POST", "/queues", json={"name": name, **(limits or {})})

    def limit_queue(self, name: str, limits: Mapping[str, int | None]) -> dict[str, Any]:
        """Change these limits of a queue."""
        return self.ask("PATCH", _queue_path(name), json=dict(limits))

    def set_queue_mode(self, name: str, verb: str) -> dict[str, Any]:
        """Hold, drain or resume a queue."""
        return self.ask("POST", f"{_queue_path(name)}/{verb}")

    def delete_queue(self, name: str) -> dict[str, Any]:
        """Delete a queue without jobs."""
        return self.ask("DELETE", _queue_path(name))

    def machines(self) -> list[dict[str, Any]]:
        """The machines of the cluster, and what runs on them."""
        return list(self.ask("GET", "/machines")["machines"])

    def machine_subtasks(self, name: str, seconds: float) -> dict[str, Any]:
        """What jobs that share a machine held its CPU and network for. Raises NotFound."""
        path = f"/machines/{quote(name, safe='')}/subtasks"
        found: dict[str, Any] = self.ask("GET", path, params={"seconds": seconds})
        return found

    def drain_machine(self, name: str, reason: str, at: str | None = None) -> dict[str, Any]:
        """Let a machine take no further jobs. `at`: ISO 8601 with a zone; None: from now on."""
        body = {"reason": reason, "at": at}
        return self.ask("POST", f"/machines/{quote(name, safe='')}/drain", json=body)

    def resume_machine(self, name: str) -> dict[str, Any]:
        """Let a drained machine take jobs again."""
        return self.ask("POST", f"/machines/{quote(name, safe='')}/resume")

    def wait(self, job: str, timeout_s: float) -> dict[str, Any]:
        """A job as soon as its state is final, or after at most `timeout_s`."""
        wait_s = min(timeout_s, _WAIT_S)
        query, timeout = {"timeout_s": wait_s}, patience(wait_s + TIMEOUT_S)
        return self.ask("GET", f"{_path(job)}/wait", params=query, timeout=timeout)

    def log_part(self, job: str, *, rank: int, attempt: int, offset: int) -> LogReply:
        """A part of a log from `offset` on. `attempt`: 0 is the last one."""
        query = {"rank": rank, "attempt": attempt, "offset": offset}
        answer = self.answer_to("GET", f"{_path(job)}/logs", params=query)
        try:
            return LogReply.of(answer)
        except (KeyError, ValueError) as error:
            raise self.no_server() from error


def _body(spec: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(spec), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInput(f"job: a value that JSON cannot hold ({error})") from error


def _path(job: str) -> str:
    """Raises BadInput for an id that could name another path."""
    return f"/jobs/{_number(job)}"


def _number(job: str) -> str:
    if not _JOB.fullmatch(job):
        raise BadInput(f"job {job[:20]!r}: give the number of a job, as 'motet list' shows it")
    return job


def _queue_path(name: str) -> str:
    return f"/queues/{quote(name, safe='')}"
