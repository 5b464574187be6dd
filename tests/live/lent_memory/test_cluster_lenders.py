"""How the server tells lenders their terms, while some of them do not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from motet.live.beside_jobs.launched_processes import ENDPOINT_FILE, ProcessTask
from motet.live.lent_memory import cluster_lenders, lender_line
from motet.live.lent_memory.cluster_lenders import (
    ClusterFolder,
    ClusterLenders,
    LenderProgram,
    LendingOptions,
)
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms
from motet.transport import Request, Server
from remote_memory_parts import SECRET, SLAB_BYTES
from waiting import wait_until

VIEW = LenderView("127.0.0.1:7400", SLAB_BYTES, 100, 50, 10, 0, 0, 0, 0, 0)


class ScriptedLender:
    """Answers with VIEW. While it is silent it keeps what it is asked, while it is broken it
    disconnects whoever asks. `told`: jobs."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self.is_silent, self.is_broken = is_silent, False
        self.told: list[tuple[str, ...]] = []
        self._kept: list[Request] = []
        self.server = Server(self._handle, SECRET)

    def _handle(self, request: Request) -> None:
        self.told.append(LendingTerms.decode(request.meta).jobs)
        if self.is_broken:
            request.disconnect()
        elif self.is_silent:
            self._kept.append(request)
        else:
            request.reply(0, VIEW.encode())

    def speak(self) -> None:
        """It answers, also what it was asked before."""
        self.is_silent = False
        while self._kept:
            self._kept.pop(0).reply(0, VIEW.encode())


class Lending:
    """The lenders of a cluster, one on each of the machines `m0`, `m1`, ..."""

    def __init__(self, folder: Path) -> None:
        program = LenderProgram({}, 60.0)
        self._folder = ClusterFolder(folder)
        options = LendingOptions(SLAB_BYTES)
        self.lenders = ClusterLenders(self._folder, options, program, SECRET, lambda _: None)

    def add(self, lender: ScriptedLender) -> None:
        """As if the launcher had started it."""
        processes = self.lenders.processes
        number = processes.next_number()
        processes.start(number, lambda _: ProcessTask(f"m{number}", ("true",), {}))
        endpoint = self._folder.lenders / str(number) / ENDPOINT_FILE
        endpoint.write_text(lender.server.endpoint.encode(), encoding="utf-8")

    def tell(self, job: str) -> bool:
        """Also those that have answered since the last time."""
        self.lenders.status()
        return self.lenders.tell(lambda _: LendingTerms({}, (job,)))

    def all_have_failed(self) -> bool:
        return cluster_lenders._SILENT not in {each.failure for each in self.lenders.status()}

    def answering(self) -> list[int]:
        return [each.number for each in self.lenders.status() if each.view is not None]


@pytest.fixture
def lending(tmp_path: Path) -> Iterator[Lending]:
    found = Lending(tmp_path)
    yield found
    found.lenders.close()


@contextmanager
def scripted(*, is_silent: bool = False) -> Iterator[ScriptedLender]:
    found = ScriptedLender(is_silent=is_silent)
    try:
        yield found
    finally:
        found.speak()
        found.server.close()


def test_all_lenders_have_answered_when_they_answer(lending: Lending) -> None:
    with scripted() as first, scripted() as second:
        lending.add(first)
        lending.add(second)
        wait_until(lambda: lending.tell("a"))
        assert lending.answering() == [0, 1]
        assert {*first.told, *second.told} == {("a",)}


def test_a_silent_lender_delays_no_other_one_and_hears_the_latest_terms_later(
    lending: Lending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lender_line, "_ANSWER_WITHIN_S", 3600.0)
    with scripted() as lender, scripted(is_silent=True) as silent:
        lending.add(silent)
        lending.add(lender)
        for job in ("a", "b", "c"):
            # Once more while the answer to the job before is on its way.
            wait_until(lambda job=job: lending.tell(job) or (job,) in lender.told)
        wait_until(lambda: lending.answering() == [1])
        wait_until(lambda: silent.told)
        assert silent.told == [("a",)]
        assert not lending.tell("c")
        silent.speak()
        wait_until(lambda: lending.tell("d"))
        assert lending.answering() == [0, 1]
        assert silent.told[-1] == ("d",)


def test_lenders_that_were_silent_before_take_no_thread_of_the_others(
    lending: Lending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lender_line, "_ANSWER_WITHIN_S", 3600.0)
    monkeypatch.setattr(lender_line, "_REST_S", 0.0)
    with ExitStack() as stack:
        silent = [stack.enter_context(scripted()) for _ in range(cluster_lenders._TOLD_AT_ONCE)]
        for each in silent:
            each.is_broken = True
            lending.add(each)
        lending.tell("a")
        wait_until(lending.all_have_failed)
        for each in silent:
            each.is_broken, each.is_silent = False, True
        # Again and again: the answer to "a" may be on its way still.
        wait_until(lambda: lending.tell("b") or all(("b",) in each.told for each in silent))
        lender = stack.enter_context(scripted())
        lending.add(lender)
        lending.tell("c")
        wait_until(lambda: lender.told == [("c",)])


def test_the_end_of_the_server_does_not_wait_for_a_silent_lender(
    lending: Lending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lender_line, "_ANSWER_WITHIN_S", 3600.0)
    with scripted(is_silent=True) as silent:
        lending.add(silent)
        lending.tell("a")
        wait_until(lambda: silent.told)
        lending.lenders.close()
