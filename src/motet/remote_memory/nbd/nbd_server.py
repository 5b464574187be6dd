"""Listens on a Unix socket for NBD clients of this user and of root."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.store_operation import BatchStore
from motet.remote_memory.nbd.nbd_batch import NewBuffer
from motet.remote_memory.nbd.nbd_connection import (
    NbdConnection,
    NbdViolation,
    peer_user,
)
from motet.remote_memory.nbd.nbd_options import NbdExport

_LOG = logging.getLogger(__name__)
_BACKLOG = 16
_BUFFER_BYTES = 4 << 20


class NbdServer:
    """A context manager. Raises BadInput: there cannot be a socket of this name.

    The socket's mode lets only its user connect; the user at the other end is checked, too.
    """

    def __init__(
        self, path: Path, store: BatchStore, name: str, new_buffer: NewBuffer | None = None
    ) -> None:
        """`name`: of the export; clients may leave it out. An old socket is replaced.
        `new_buffer`: memory that the store's lenders on this host can access."""
        self.path = path
        self._new_buffer = new_buffer or _new_buffer
        self._store, self._export = store, NbdExport(name, store.size_bytes)
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._is_closing = False
        self._sock = _listening(path)
        self._acceptor = threading.Thread(target=self._accept, name="motet-nbd", daemon=True)
        self._acceptor.start()

    @property
    def client_count(self) -> int:
        """Number of connections."""
        return len(self._connections)

    def close(self) -> None:
        """Disconnect all clients; requests that have begun are finished."""
        with self._lock:
            self._is_closing = True
            connections = dict(self._connections)
        _shut_down(self._sock)
        self._acceptor.join()
        self._sock.close()
        for sock in connections:
            _shut_down(sock)
        for thread in connections.values():
            thread.join()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                if self._is_closing:
                    return
                continue
            if peer_user(sock) not in (0, os.getuid()):
                sock.close()
                continue
            with self._lock:
                if self._is_closing:
                    sock.close()
                    return
                thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
                self._connections[sock] = thread
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            NbdConnection(sock, self._store, self._export, self._new_buffer).serve()
        except NbdViolation as error:
            _LOG.warning("an NBD client was disconnected: %s", error)
        except OSError:
            pass
        except Exception:
            _LOG.exception("an NBD connection failed")
        finally:
            with self._lock:
                self._connections.pop(sock, None)
            sock.close()


def _listening(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(str(path))
    except OSError as error:
        sock.close()
        raise BadInput(f"{path}: cannot make a socket there: {error}") from error
    finally:
        os.umask(before)
    sock.listen(_BACKLOG)
    return sock


def _new_buffer(size: int) -> memoryview:
    return memoryview(bytearray(size))


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
