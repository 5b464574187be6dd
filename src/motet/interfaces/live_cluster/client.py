"""`motet.Client`: the live cluster for programs and notebooks."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.account_calls import AccountCalls
from motet.interfaces.live_cluster.arguments import server_address
from motet.interfaces.live_cluster.cluster_calls import ClusterCalls
from motet.interfaces.live_cluster.job_calls import JobCalls
from motet.interfaces.python_messages import python_methods


@python_methods
class Client(JobCalls, ClusterCalls, AccountCalls):
    """The live cluster that a server runs. Close it, or use it in a `with` statement.

    Every method raises Unreachable, AuthenticationFailed, NotFound or BadInput, all of them
    MotetError, with the server's message. Not safe for threads.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        """`url`: of the server; None: MOTET_SERVER, or the one that this user runs here.

        `token`: None: MOTET_TOKEN, or the token of that server. `state_dir`: its state folder.
        `ca_file`: PEM certificates that the server's must come from; None: MOTET_CA_FILE, or those
        of the system.
        """
        self._live = LiveClient(server_address(url, token, state_dir, ca_file))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Of the server; the pages are there, too."""
        return self._live.url

    def close(self) -> None:
        """Close the connection."""
        self._live.__exit__(None, None, None)
