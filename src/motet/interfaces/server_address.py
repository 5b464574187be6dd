"""Where the server of the live cluster answers, and the token for it."""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from platformdirs import user_data_path

from motet.domain.errors import AuthenticationFailed, BadInput, Unreachable
from motet.interfaces.configuration.settings import CA_FILE, SERVER, STATE_FOLDER, value_of

TOKEN_VARIABLE = "MOTET_TOKEN"
ADDRESS_FILE, TOKEN_FILE, LOCK_FILE = "server.json", "token", "server.lock"
"""Files in the state folder of a server, which has locked the last one as long as it lives."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_ROOT, _LISTENING = 0, "0A"
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP = 4, 20, 0x301
_NLMSG_ERROR, _NLMSG_DONE, _TCP_LISTEN = 2, 3, 10
_STATUS = struct.Struct("=i")
_MESSAGE = struct.Struct("=IHHII")
"""Of netlink(7): length with itself, type, flags, sequence number, port."""
_QUESTION = struct.Struct("=BBxxI H 46x")
"""`inet_diag_req_v2` of sock_diag(7): family, protocol, states; the local port, in the order of the
network."""
_ANSWER = struct.Struct("=4x 48x 12x I 4x")
"""`inet_diag_msg`: the user."""


class ListensElsewhere(Unreachable):
    """The server of a shared state folder listens to another machine alone."""


class _LocalServer(NamedTuple):
    """What a server has written for commands: its URL, its certificate if it has one, and its
    machine; None: earlier versions do not tell it."""

    url: str | None = None
    certificate: Path | None = None
    machine: str | None = None


def default_server_folder() -> Path:
    """Where a server keeps its state, and where commands of the same user find it. Raises
    BadInput."""
    chosen = value_of(STATE_FOLDER)
    return Path(chosen) if chosen else user_data_path("motet") / "server"


def known_server(url: str | None, folder: Path | None) -> str | None:
    """The URL that commands would ask, whether or not something answers there. Raises BadInput.

    `url`, `folder`: of options; they come before the environment and configuration files.
    """
    if url:
        return url
    own = _local_server((folder or default_server_folder()) / ADDRESS_FILE).url
    return own if folder is not None and own else value_of(SERVER) or own


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server answers, and the token it accepts. `ca_file`: PEM certificates of which one
    must have signed the server's, or be it; None: those of the system."""

    url: str
    token: str
    ca_file: Path | None = None
    _asked: tuple[str | None, Path | None] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def find(cls, url: str | None = None, folder: Path | None = None) -> Self:
        """The given server, that of `folder`, of MOTET_SERVER or a configuration file, or the one
        of this user on this machine.

        Raises BadInput, Unreachable, AuthenticationFailed.
        """
        home = folder or default_server_folder()
        own, certificate, machine = _local_server(home / ADDRESS_FILE)
        chosen = known_server(url, folder)
        if chosen in (None, own):
            _require_listener(home, chosen, machine)
        if chosen is None:
            raise Unreachable(
                "no server is known; start one with 'motet server', or give --server URL"
            )
        token = os.environ.get(TOKEN_VARIABLE)
        if not token:
            token = _text(home / TOKEN_FILE)
            if certificate is None or chosen != own:  # Else its certificate shows who it is.
                _require_own_server(chosen)
        if not token:
            raise AuthenticationFailed(
                f"no token for {chosen}; set {TOKEN_VARIABLE} to the one that an admin gave you"
            )
        if not (token.isascii() and token.isprintable()):
            raise AuthenticationFailed(f"not a token: {token[:20]!r}; set {TOKEN_VARIABLE}")
        _require_encryption(chosen)
        given = value_of(CA_FILE)
        ca_file = Path(given) if given else certificate if chosen == own else None
        return cls(chosen.rstrip("/"), token, ca_file, (url, folder))

    @classmethod
    def given(cls, url: str, token: str) -> Self:
        """A server that a program names with its token. Raises BadInput for what is no URL."""
        _host_and_port(url)
        return cls(url.rstrip("/"), token)

    def again(self) -> Self:
        """As `find` finds it now: a server that was started again may have another port. Raises as
        `find` does."""
        return self if self._asked is None else type(self).find(*self._asked)

    def trusted(self) -> ssl.SSLContext:
        """Which certificates of the server are accepted: none where it is asked over HTTP. Raises
        BadInput."""
        path = self.ca_file
        if path is None and urlsplit(self.url).scheme == "http":
            # To load the certificates of the system takes 25 ms.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if path is None:
            return ssl.create_default_context()
        try:
            context = ssl.create_default_context(cafile=str(path))
        except OSError as error:
            reason = error.strerror or error
            raise BadInput(
                f"--ca-file {path}: not a file of PEM certificates ({reason})"
            ) from error
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # It may be the server's own one.
        return context


def _require_encryption(url: str) -> None:
    """Raises BadInput for an address to which the token would travel readable."""
    host, _ = _host_and_port(url)
    if urlsplit(url).scheme == "http" and host not in _LOOPBACK:
        raise BadInput(
            f"--server {url}: your token would travel unencrypted; write https://, or use a tunnel "
            "to a port of 127.0.0.1"
        )


def _require_listener(home: Path, url: str | None, machine: str | None) -> None:
    """Raises Unreachable where a server has this folder, but does not listen on this machine.
    `url`, `machine`: where the server before it, or itself, has listened."""
    host, port = ("", 0) if url is None else _host_and_port(url)
    if port and _listeners(port):
        return
    if _is_locked(home / LOCK_FILE):  # By a process of this machine.
        raise Unreachable(
            f"the server of {home} does not answer yet: it starts, which takes up to a minute "
            "where its policy has to be compiled, or ends; try again"
        )
    if host in _LOOPBACK and machine not in (None, socket.gethostname()):
        raise ListensElsewhere(
            f"the server of {home} was started on {machine}, and listens to that machine alone: "
            "give the command there, or let the server listen to others (motet server --host "
            "ADDRESS --tls-cert FILE), and give --server URL; if it has ended, start it again "
            "with 'motet server'"
        )


def _require_own_server(url: str) -> None:
    """The token in the state folder is for a server of this user alone.

    The port of a server that has ended is free for other users, who would be sent the token.
    """
    host, port = _host_and_port(url)
    if host not in _LOOPBACK:
        raise AuthenticationFailed(
            f"the token of the server on this machine is not sent to {host}; set {TOKEN_VARIABLE} "
            f"to the token of {url}"
        )
    owners = _listeners(port)
    if not owners:
        raise Unreachable(
            f"{url} does not answer; start it with 'motet server', or give --server URL"
        )
    if owners - {os.geteuid(), _ROOT}:
        raise AuthenticationFailed(
            f"at {url} another user's process listens, which may ask for your token; start your "
            f"server with 'motet server', or set {TOKEN_VARIABLE} to the token of that one"
        )


def _host_and_port(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput(f"--server {url}: not a URL ({error})") from error
    if parts.scheme not in ("http", "https") or host is None:
        raise BadInput(f"--server {url}: not a URL; write http://HOST:PORT")
    return host, port or (443 if parts.scheme == "https" else 80)


def _listeners(port: int) -> set[int]:
    """The users whose processes listen on a TCP port of this machine."""
    try:
        return {*_listeners_of(socket.AF_INET, port), *_listeners_of(socket.AF_INET6, port)}
    except OSError:  # A kernel without sock_diag(7), as that of some sandboxes.
        return {*_listeners_in_tables(port)}


def _listeners_in_tables(port: int) -> Iterator[int]:
    """For these the kernel goes through all connections, which takes 7 ms."""
    for table in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):  # A kernel without IPv6.
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                local, state, owner = (line.split()[column] for column in (1, 3, 7))
                if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                    yield int(owner)


def _listeners_of(family: int, port: int) -> Iterator[int]:
    """Raises OSError."""
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 1 << _TCP_LISTEN, socket.htons(port))
    size = _MESSAGE.size + len(question)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.send(_MESSAGE.pack(size, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 0, 0) + question)
        while True:
            answers = kernel.recv(1 << 16)
            while answers:
                length, kind, *_ = _MESSAGE.unpack_from(answers)
                if kind in (_NLMSG_ERROR, _NLMSG_DONE):
                    _raise_error(answers[_MESSAGE.size : length])
                    return
                yield _ANSWER.unpack_from(answers, _MESSAGE.size)[0]
                answers = answers[length:]


def _raise_error(status: bytes) -> None:
    """Raises the OSError of an answer; a question that fails on the way ends with one, too."""
    number = -_STATUS.unpack_from(status)[0] if len(status) >= _STATUS.size else 0
    if number > 0:
        raise OSError(number, os.strerror(number))


def _is_locked(path: Path) -> bool:
    """Whether a process holds the lock (flock) of a file, by the table of the kernel: an attempt to
    lock it would refuse it to a server that starts at this moment."""
    try:
        file, table = path.stat(), Path("/proc/locks").read_text(encoding="ascii")
    except OSError:  # It has never been locked, or this is no Linux.
        return False
    place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    return any(place in line.split() for line in table.splitlines())


def _local_server(path: Path) -> _LocalServer:
    """What the server told that wrote this file."""
    text = _text(path)
    if text is None:
        return _LocalServer()
    try:
        told = json.loads(text)
        certificate, machine = told.get("certificate"), told.get("machine")
        found = Path(certificate) if certificate else None
        return _LocalServer(str(told["url"]), found, None if machine is None else str(machine))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{path}: damaged; start 'motet server' again, which writes it") from error


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
