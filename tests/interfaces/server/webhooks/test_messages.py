"""Messages to a receiver that takes its time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from motet.interfaces.server.webhooks.messages import MessageSender, NotDelivered
from motet.live.webhooks.signature import new_signing_secret

PARTS, PAUSE_S = 400, 0.02


@contextmanager
def dripping_receiver() -> Iterator[str]:
    """Answers 204, a byte of its headers every PAUSE_S: eight seconds in all."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                request = b""
                while not request.endswith(b"\r\n\r\n{}"):
                    request += connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 204 No Content\r\nslow: ")
                for _ in range(PARTS):
                    if is_over.wait(PAUSE_S):
                        return
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return
                connection.sendall(b"\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
        finally:
            is_over.set()
            thread.join()


def test_a_message_has_one_deadline_however_its_receiver_drips() -> None:
    with (
        dripping_receiver() as url,
        MessageSender(deadline_s=0.5) as sender,
        pytest.raises(NotDelivered, match=r"did not answer within 0\.5 s"),
    ):
        sender.send(url, new_signing_secret(), "msg_1", b"{}")


@pytest.mark.soak
def test_a_slow_receiver_gets_its_message_within_the_deadline() -> None:
    with dripping_receiver() as url, MessageSender(deadline_s=300) as sender:
        sender.send(url, new_signing_secret(), "msg_1", b"{}")
