"""Submits jobs at their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from motet.domain.errors import MotetError
from motet.interfaces.client import LiveClient
from motet.interfaces.demo_jobs.demonstrations import demonstration_of
from motet.interfaces.demo_jobs.workload import Arrival
from motet.interfaces.server_address import ServerAddress


class Submitter:
    """Submits jobs at their times, on a thread of its own, until it is closed.

    `error`: why it has ended early, if it has; it is also passed to `echo`.
    """

    def __init__(
        self, client: LiveClient, arrivals: Sequence[Arrival], echo: Callable[[str], None]
    ) -> None:
        self._client, self._arrivals, self._echo = client, arrivals, echo
        self._is_closed = Event()
        self._thread = Thread(target=self._submit_all, name="motet-demo-arrivals", daemon=True)
        self.error: MotetError | None = None

    def __enter__(self) -> Submitter:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
        self._thread.join()

    def start(self) -> None:
        """Submit for as long as the process lives."""
        self._thread.start()

    def _submit_all(self) -> None:
        began_s = time.monotonic()
        try:
            for number, arrival in enumerate(self._arrivals):
                if self._is_closed.wait(max(began_s + arrival.at_s - time.monotonic(), 0.0)):
                    return
                self._client.submit(arrival.values, key=f"demo-{number}")
        except MotetError as error:
            self.error = error
            self._echo(str(error))


def submit_demo_jobs(
    url: str | None, folder: Path, policy: str, echo: Callable[[str], None]
) -> None:
    """Submit the jobs of the demo of a policy to the server of this process. `folder`: of its
    state."""
    client = LiveClient(ServerAddress.find(url, folder))
    Submitter(client, demonstration_of(policy).arrivals(folder), echo).start()
