from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from motet.transport.client.reader_election import ReaderElection


@dataclass
class Reply:
    is_done: bool = False


def test_the_first_thread_is_elected_at_once() -> None:
    election = ReaderElection()
    assert election.elect_unless_done(Reply(), None)


def test_a_thread_that_is_not_elected_in_time_raises_a_timeout() -> None:
    election = ReaderElection()
    election.elect()
    with pytest.raises(TimeoutError):
        election.elect_unless_done(Reply(), 0.0)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_waiting_thread_ends_once_it_is_done_or_the_reader_resigns(is_done: bool) -> None:
    election = ReaderElection()
    election.elect()
    reply = Reply()
    results: list[bool] = []
    waiting = threading.Thread(
        target=lambda: results.append(election.elect_unless_done(reply, None))
    )
    waiting.start()
    reply.is_done = is_done
    if is_done:
        while waiting.is_alive():
            election.notify()
    else:
        election.resign()
    waiting.join()
    assert results == [not is_done]
