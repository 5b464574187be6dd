"""What the kernel should hold of a connection's data, on simulated links."""

from __future__ import annotations

import socket

from hypothesis import given
from hypothesis import strategies as st

from motet.transport.backends.kernel_queue import (
    HELD_S,
    LEAST_BYTES,
    LOOK_S,
    MOST_BYTES,
    DrainWindow,
    unacknowledged_bytes,
)
from waiting import wait_until

CHUNK = 16 << 10
STEPS = 400


def held_over_time(
    bytes_per_s: float, pauses_s: list[float], later_bytes_per_s: float | None = None
) -> list[float]:
    """What the kernel holds whenever the sender, which looks after these pauses, has sent.

    `later_bytes_per_s`: the link's in the second half.
    """
    window, held, now_s, found = DrainWindow(), 0.0, 0.0, []
    for step in range(STEPS):
        if step == STEPS // 2 and later_bytes_per_s is not None:
            bytes_per_s = later_bytes_per_s
        pause_s = pauses_s[step % len(pauses_s)]
        now_s += pause_s
        held = max(held - pause_s * bytes_per_s, 0)
        while window.has_room(round(held), now_s):
            window.add(CHUNK)
            held += CHUNK
        found.append(held)
    return found


RATES = st.floats(1e6, 1e9)


@given(RATES, st.lists(st.floats(LOOK_S, 2 * LOOK_S), min_size=1, max_size=10))
def test_the_kernel_holds_a_few_milliseconds_of_data(rate: float, pauses: list[float]) -> None:
    settled = held_over_time(rate, pauses)[STEPS // 2 :]
    # Twice: a look after the end of the queue tells only that the link is faster.
    assert max(settled) <= max(2 * rate * HELD_S, 2 * LEAST_BYTES) + CHUNK


def test_the_kernel_holds_less_when_the_link_gets_slower() -> None:
    slower = held_over_time(1e9, [LOOK_S], later_bytes_per_s=1e8)[-STEPS // 4 :]
    assert max(slower) <= 2 * 1e8 * HELD_S + CHUNK


@given(RATES)
def test_the_link_is_never_idle_between_two_looks(rate: float) -> None:
    settled = held_over_time(rate, [LOOK_S])[STEPS // 2 :]
    assert sum(held >= rate * LOOK_S for held in settled) >= 0.95 * len(settled)


@given(st.lists(st.tuples(st.integers(0, 1 << 30), st.floats(0, 10)), max_size=50))
def test_the_window_stays_within_its_limits(looks: list[tuple[int, float]]) -> None:
    window, now_s = DrainWindow(), 0.0
    for held, pause_s in looks:
        now_s += pause_s
        window.has_room(held, now_s)
        assert LEAST_BYTES <= window.window_bytes <= MOST_BYTES


def test_what_a_peer_has_got_is_not_held() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as sender,
        listener.accept()[0] as receiver,
    ):
        sender.sendall(b"x" * 100)
        assert receiver.recv(100, socket.MSG_WAITALL)
        wait_until(lambda: not unacknowledged_bytes(sender))
