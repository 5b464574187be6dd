"""Who holds the tokens of a machine, and who waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Token(IntEnum):
    """`CPU`: for COMP. `NETWORK`: for PULL and PUSH; its first holder is the primary one."""

    CPU = 0
    NETWORK = 1


class BadTokenRequest(Exception):
    """A holder asked for a token while it held or awaited one."""


@dataclass
class _Line:
    """One kind of token. `since_us`: when its holders got it, in that order. `waiting`: by holder
    when its mini-batch began, in the order of the requests."""

    free: int
    since_us: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)


class TokenTable:
    """Grants in the order in which the mini-batches of the subtasks began; holders are numbers.

    The workers of a job begin a mini-batch together, when its barrier opens, so this order is the
    same on all machines that jobs share, and the workers of a job get their turns together. In the
    order of the requests, a job could compute first on one machine and second on another one, and
    its barrier would wait for the later one. A mini-batch that began earlier is passed by none, so
    no holder waits for ever.

    A holder whose subtask takes longer than the limit loses the token as soon as another one waits
    for it: its subtask goes on beside the next one. So a process that is stopped, or computes
    without end, delays others by the limit at most.
    """

    def __init__(self, counts: Mapping[Token, int], limit_us: int) -> None:
        """`counts`: how many of each kind there are; `limit_us`: of a subtask."""
        self._lines = {token: _Line(counts[token]) for token in Token}
        self._limit_us = limit_us
        self._of: dict[int, Token] = {}

    def request(self, holder: int, token: Token, now_us: int, began_us: int) -> list[int]:
        """Holders that get a token by this: none, or the one that asks.

        `began_us`: the beginning of the mini-batch. Raises BadTokenRequest.
        """
        if holder in self._of:
            raise BadTokenRequest
        self._of[holder] = token
        line = self._lines[token]
        line.waiting[holder] = began_us
        return self._grant(line, now_us)

    def held_since_us(self, holder: int) -> int | None:
        """When the holder got the token that it has; None: it has none."""
        token = self._of.get(holder)
        return None if token is None else self._lines[token].since_us.get(holder)

    def release(self, holder: int, now_us: int) -> list[int]:
        """Who gets a token now. Nothing happens if the holder has lost its own to the limit."""
        token = self._of.pop(holder, None)
        if token is None:
            return []
        line = self._lines[token]
        if holder in line.since_us:
            del line.since_us[holder]
            line.free += 1
        line.waiting.pop(holder, None)
        return self._grant(line, now_us)

    def first(self, token: Token) -> int | None:
        """Of the holders of this kind, the one that got its token first; None: there is none."""
        return next(iter(self._lines[token].since_us), None)

    def is_second(self, holder: int) -> bool:
        """Whether it holds a network token that another one got before."""
        line = self._lines[Token.NETWORK]
        return holder in line.since_us and holder != self.first(Token.NETWORK)

    def expire(self, now_us: int) -> list[int]:
        """Take tokens from those over the limit while others wait; who gets them."""
        granted = []
        for line in self._lines.values():
            for holder in list(line.since_us)[: len(line.waiting)]:
                if now_us - line.since_us[holder] >= self._limit_us:
                    granted += self.release(holder, now_us)
        return granted

    def next_expiry_us(self) -> int | None:
        """When `expire` has something to do; None while nobody waits."""
        began_us = [min(line.since_us.values()) for line in self._lines.values() if line.waiting]
        return min(began_us) + self._limit_us if began_us else None

    def _grant(self, line: _Line, now_us: int) -> list[int]:
        granted = []
        while line.free and line.waiting:
            holder = min(line.waiting, key=line.waiting.__getitem__)  # The first of equals.
            del line.waiting[holder]
            line.since_us[holder] = now_us
            line.free -= 1
            granted.append(holder)
        return granted
