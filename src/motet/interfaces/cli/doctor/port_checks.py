"""Checks of ports: where the server and the head of its cluster listen, and who else does."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import psutil

from motet.interfaces.cli.doctor.finding import Finding

ANSWER_WITHIN_S = 2.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def unreached_port(url: str, why: str) -> Finding:
    """Why a server does not answer. `why`: what a client says about it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return Finding("server port", "wrong", f"{url} is not a URL; write http://HOST:PORT")
    place = f"{host}:{port}"
    problem = connection_problem(host, port)
    if problem is None:
        taken_by = f" ({owner})" if host in _LOOPBACK and (owner := listening_program(port)) else ""
        message = (
            f"{place} is taken by another program{taken_by}: {why}; end it, or start the server "
            "with --port N"
        )
    elif host in _LOOPBACK:
        message = f"{place}: {problem}; start the server with 'motet server'"
    else:
        message = (
            f"{place}: {problem}; start the server there, and let the firewalls between pass TCP "
            f"port {port}"
        )
    return Finding("server port", "wrong", message)


def served_port(url: str, host: str, *, is_encrypted: bool) -> Finding:
    """Who reaches a server that answers at `url`. `host`: where it listens."""
    place = urlsplit(url).netloc
    if host in _LOOPBACK:
        who = "this machine alone" if not is_encrypted else "this machine, and a proxy for others"
        return Finding("server port", "ok", f"{place} answers; reached by {who}")
    return Finding("server port", "ok", f"{place} answers; listens on {host} for other machines")


def head_port(address: str) -> Finding:
    """Whether this machine reaches the head of a Ray cluster."""
    host, _, port = address.rpartition(":")
    problem = connection_problem(host, int(port))
    if problem is not None:
        message = (
            f"{address}: {problem}; machines cannot join: start it with 'motet server --head "
            f"{address}', and let firewalls pass all TCP ports between the machines"
        )
        return Finding("head port", "wrong", message)
    alone = "; other machines cannot join at a loopback address" if host in _LOOPBACK else ""
    return Finding("head port", "ok", f"{address} accepts connections{alone}")


def connection_problem(host: str, port: int) -> str | None:
    """Why no connection is accepted within ANSWER_WITHIN_S; None: one is."""
    try:
        socket.create_connection((host, port), ANSWER_WITHIN_S).close()
    except TimeoutError:
        return f"no answer within {ANSWER_WITHIN_S:g} s"
    except ConnectionRefusedError:
        return "nothing listens there"
    except socket.gaierror as error:
        return f"the name is unknown ({error.strerror})"
    except OSError as error:
        return f"cannot be reached ({error.strerror})"
    return None


def listening_program(port: int) -> str:
    """Name and number of the process that listens on a port of this machine; empty: it cannot be
    seen, for it may be another user's."""
    with suppress(psutil.Error, OSError):
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                found = process.net_connections("tcp")
                if any(_listens(each, port) for each in found):
                    return f"{process.name()}, process {process.pid}"
    return ""


def _listens(connection: Any, port: int) -> bool:
    return bool(connection.status == psutil.CONN_LISTEN and connection.laddr[1] == port)
