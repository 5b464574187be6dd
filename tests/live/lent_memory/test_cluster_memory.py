"""What the master hears of borrowed memory, from lenders that answer late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from motet.live.beside_jobs.launched_processes import ENDPOINT_FILE, ProcessTask
from motet.live.lent_memory import lender_line
from motet.live.lent_memory.cluster_lenders import ClusterFolder, LenderProgram, LendingOptions
from motet.live.lent_memory.cluster_memory import ClusterMemory
from motet.live.lent_memory.job_requests import JobMemory
from motet.live.master.facts import MemoryBorrowed
from motet.live.master.requests import Workplace
from motet.remote_memory.lender.cluster_terms import ClusterTerms
from motet.remote_memory.wire.borrower_names import job_client, job_of_borrower
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms
from motet.transport import Request, Server
from remote_memory_parts import SLAB_BYTES
from waiting import wait_until

VIEW = LenderView("127.0.0.1:7400", SLAB_BYTES, 100, 50, 10, 0, 0, 0, 0, 0)
JOB, ATTEMPT, NAME = 3, 1, "motet-3-a.1"


class AccountingLender:
    """Forgets the account of an ended job once the server has heard it, as lenders do. `kept`:
    answers, while `is_silent`. `accounts`: byte-seconds by borrower."""

    def __init__(self, secret: bytes) -> None:
        self.is_silent = False
        self.accounts: dict[str, float] = {}
        self.kept: list[tuple[Request, bytes]] = []
        self._terms = ClusterTerms(secret, lambda _: {})
        self.server = Server(self._handle, secret)

    def _handle(self, request: Request) -> None:
        jobs = LendingTerms.decode(request.meta).jobs
        last = [each for each in self.accounts if job_of_borrower(each) not in jobs]
        for name in self._terms.heard_accounts(request.client_id, last):
            del self.accounts[name]
        answer = replace(VIEW, borrowed_byte_s=dict(self.accounts)).encode()
        if self.is_silent:
            self.kept.append((request, answer))
        else:
            request.reply(0, answer)

    def speak(self) -> None:
        """It answers, also what it was asked before."""
        self.is_silent = False
        while self.kept:
            request, answer = self.kept.pop(0)
            request.reply(0, answer)


class Lending:
    """A cluster with one lender, and a job that borrows. `recorded`: what the master hears."""

    def __init__(self, folder: Path) -> None:
        self.recorded: list[MemoryBorrowed] = []
        self.memory = ClusterMemory(
            ClusterFolder(folder / "memory"),
            LendingOptions(SLAB_BYTES),
            LenderProgram({}, 60.0),
            Workplace(folder, {}),
            lambda _: None,
            self.recorded.append,
            lambda _: None,
        )
        self.lender = AccountingLender(self.memory.secret)
        processes = self.memory._lenders.processes
        processes.start(0, lambda _: ProcessTask("m0", ("true",), {}))
        endpoint = self.memory.folder.lenders / "0" / ENDPOINT_FILE
        endpoint.write_text(self.lender.server.endpoint.encode(), encoding="utf-8")

    def borrow(self, byte_s: float) -> None:
        """The job runs, and has borrowed so much."""
        self.memory._requests._by_job[JOB] = JobMemory(JOB, ATTEMPT, NAME, {})
        self.lender.accounts[job_client(NAME)] = byte_s

    def end(self, byte_s: float) -> None:
        """The job ends, and has borrowed so much."""
        self.memory._requests._by_job.clear()
        self.lender.accounts[job_client(NAME)] = byte_s

    def look(self) -> None:
        self.memory._look(is_news=False)

    def answer(self) -> bool:
        """Whether the lender has answered what it was asked last."""
        return all(each.done() for each in self.memory._lenders._asked.values())

    def close(self) -> None:
        self.lender.speak()
        self.memory.close()
        self.lender.server.close()


@pytest.fixture
def lending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lending]:
    monkeypatch.setattr(lender_line, "_ANSWER_WITHIN_S", 3600.0)
    monkeypatch.setattr(lender_line, "_REST_S", 0.0)
    found = Lending(tmp_path)
    found.borrow(5.0)
    found.look()
    wait_until(found.answer)
    found.look()
    yield found
    found.close()


def test_a_late_answer_with_the_account_of_an_ended_job_is_recorded(lending: Lending) -> None:
    lending.lender.is_silent = True
    lending.end(7.0)
    lending.look()
    wait_until(lambda: lending.lender.kept)
    lending.lender.speak()
    wait_until(lending.answer)
    lending.look()
    assert lending.recorded[-1] == MemoryBorrowed(JOB, ATTEMPT, {"0": 7})
    wait_until(lambda: (lending.look(), not lending.lender.accounts)[1])


def test_the_account_of_a_job_that_ended_while_its_lender_was_unreachable_is_recorded(
    lending: Lending, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as short:
        short.setattr(lender_line, "_ANSWER_WITHIN_S", 0.0)
        lending.lender.is_silent = True
        lending.look()
        wait_until(lending.answer)
        lending.look()
        wait_until(lending.answer)
    assert lending.memory._lenders._lines[0].failure
    lending.end(7.0)
    lending.lender.speak()
    for _ in range(3):
        lending.look()
        wait_until(lending.answer)
    assert lending.recorded[-1] == MemoryBorrowed(JOB, ATTEMPT, {"0": 7})
    assert not lending.memory._log._attempts
