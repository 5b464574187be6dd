"""Where commands send the token of the state folder: to a server of the same user, and no other."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError, Unreachable
from motet.interfaces import server_address
from motet.interfaces.cli.doctor.checks import all_checks
from motet.interfaces.server.state_folder import locked_state_folder
from motet.interfaces.server_address import (
    ListensElsewhere,
    ServerAddress,
    _listeners,
    _listeners_in_tables,
    _listeners_of,
    _raise_error,
)

NOBODY = 65534
SCHEMES = "http", "https"
TOKEN = "t" * 43


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOTET_SERVER", "MOTET_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(TOKEN + "\n")
    return tmp_path


@contextmanager
def listening(user: int, family: socket.AddressFamily = socket.AF_INET) -> Iterator[socket.socket]:
    """A socket of a user that listens. Its owner is the user that has created it."""
    before = os.geteuid()
    os.seteuid(user)
    try:
        listener = socket.socket(family)
    finally:
        os.seteuid(before)
    with listener:
        listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield listener


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def tell(folder: Path, port: int) -> None:
    (folder / "server.json").write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": 1}))


def test_a_server_of_the_same_user_gets_the_token(folder: Path) -> None:
    with listening(os.geteuid()) as listener:
        tell(folder, port_of(listener))
        found = ServerAddress.find(folder=folder)
    assert found == ServerAddress(f"http://127.0.0.1:{port_of_url(found.url)}", TOKEN)


def port_of_url(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make sockets of other users")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_another_user_at_the_port_of_a_dead_server_does_not(
    folder: Path, family: socket.AddressFamily
) -> None:
    """He could use the token as soon as the server is started again."""
    with listening(NOBODY, family) as listener:
        tell(folder, port_of(listener))
        with pytest.raises(AuthenticationFailed, match="another user's process listens"):
            ServerAddress.find(folder=folder)
        with pytest.raises(AuthenticationFailed, match="another user's process listens"):
            ServerAddress.find(f"http://localhost:{port_of(listener)}", folder)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make sockets of other users")
def test_a_token_that_is_meant_for_another_user_is_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "x" * 43)
    with listening(NOBODY) as listener:
        url = f"http://127.0.0.1:{port_of(listener)}"
        assert ServerAddress.find(url, folder) == ServerAddress(url, "x" * 43)


def test_a_port_without_a_server_is_not_asked(folder: Path) -> None:
    with listening(os.geteuid()) as listener:
        tell(folder, port_of(listener))
    with pytest.raises(Unreachable, match="does not answer; start it with 'motet server'"):
        ServerAddress.find(folder=folder)


def test_a_server_that_listens_to_another_machine_alone_is_not_waited_for(folder: Path) -> None:
    with listening(os.geteuid()) as listener:
        url = f"http://127.0.0.1:{port_of(listener)}"
    told = {"url": url, "pid": 1, "machine": "head.lab"}
    (folder / "server.json").write_text(json.dumps(told))
    with pytest.raises(ListensElsewhere, match=r"started on head\.lab, .* give the command there"):
        ServerAddress.find(folder=folder)
    with locked_state_folder(folder), pytest.raises(Unreachable, match="yet: it starts") as raised:
        ServerAddress.find(folder=folder)  # Here, under a new name of this machine.
    assert not isinstance(raised.value, ListensElsewhere)
    finding = all_checks(None, folder)[-1]
    assert (finding.subject, finding.verdict) == ("server port", "wrong")
    assert "give the command there" in finding.message


@pytest.mark.parametrize("has_run_before", [False, True])
def test_a_server_that_starts_is_not_taken_for_none(folder: Path, has_run_before: bool) -> None:
    if has_run_before:
        with listening(os.geteuid()) as listener:
            tell(folder, port_of(listener))
    with locked_state_folder(folder):
        with pytest.raises(Unreachable, match="does not answer yet: it starts"):
            ServerAddress.find(folder=folder)
        with listening(os.geteuid()) as listener:
            tell(folder, port_of(listener))
            assert ServerAddress.find(folder=folder).token == TOKEN
    with pytest.raises(Unreachable, match="start it with 'motet server'"):
        ServerAddress.find(folder=folder)


@pytest.mark.parametrize("url", ["http://example.org", "http://127.0.0.1.example.org:80"])
def test_the_token_of_this_machine_is_not_sent_to_another(folder: Path, url: str) -> None:
    with pytest.raises(AuthenticationFailed, match="is not sent to"):
        ServerAddress.find(url, folder)


@pytest.mark.parametrize(
    "url",
    ["foo", "//x", "http://", "http://[::", "http://127.0.0.1:x", "http://h:99999", "file:///etc"],
)
def test_what_is_no_url_is_one_clear_error(folder: Path, url: str) -> None:
    with pytest.raises(BadInput, match="not a URL"):
        ServerAddress.find(url, folder)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"12", b'"x"', b"\xff", b"{}", b"[" * 100_000]
)
def test_a_damaged_address_file_is_one_clear_error(folder: Path, content: bytes) -> None:
    (folder / "server.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"server\.json: damaged; start 'motet server' again"):
        ServerAddress.find(folder=folder)


@pytest.mark.parametrize("token", ["\x1b[31m", "a\nb", "é", "\udcff"])
def test_what_is_no_token_is_one_clear_error(
    folder: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", token)
    with pytest.raises(MotetError, match="not a token"):
        ServerAddress.find("http://127.0.0.1:1", folder)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("user", [os.geteuid(), NOBODY])
def test_listeners_are_those_of_the_tables(family: socket.AddressFamily, user: int) -> None:
    """Of listening sockets alone: the port of a connection has another one."""
    if user != os.geteuid() and os.geteuid():
        pytest.skip("needs two users")
    with listening(user, family) as listener:
        port = port_of(listener)
        with socket.socket(family) as caller:
            caller.connect(listener.getsockname())
            assert [*_listeners_of(family, port)] == [*_listeners_in_tables(port)] == [user]
            assert [*_listeners_of(family, port_of(caller))] == []
    assert [*_listeners_of(family, port)] == []


def test_answers_of_the_kernel_in_several_parts_are_read_to_the_end() -> None:
    with contextlib.ExitStack() as stack:
        port = 0
        for _ in range(200):  # The first part has room for 30.
            listener = stack.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen()
            port = port_of(listener)
        assert len([*_listeners_of(socket.AF_INET, port)]) == 200


def without_module(family: int, port: int) -> None:
    """As a kernel that has not loaded the module for TCP."""
    del family, port
    _raise_error(struct.pack("=i", -errno.ENOENT))


def test_without_answers_of_the_kernel_its_tables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(os.geteuid(), socket.AF_INET) as listener:
        monkeypatch.setattr(server_address, "_listeners_of", without_module)
        assert _listeners(port_of(listener)) == {os.geteuid()}


@pytest.mark.parametrize("status", [b"", struct.pack("=i", 0)])
def test_an_answer_without_an_error_is_complete(status: bytes) -> None:
    _raise_error(status)


def test_no_certificates_are_read_for_a_server_without_tls() -> None:
    trusted = {
        scheme: ServerAddress(f"{scheme}://127.0.0.1:1", TOKEN).trusted() for scheme in SCHEMES
    }
    assert trusted["http"].cert_store_stats()["x509_ca"] == 0
    assert {context.verify_mode for context in trusted.values()} == {ssl.CERT_REQUIRED}
