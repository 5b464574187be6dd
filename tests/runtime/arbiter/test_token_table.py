"""Tokens are granted in the order of mini-batches, and no token is idle while a holder waits."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from motet.runtime.arbiter.token_table import BadTokenRequest, Token, TokenTable

LIMIT_US = 100
HOLDERS = st.integers(0, 7)


class TokensOfAMachine(RuleBasedStateMachine):
    """Two CPU tokens and two network tokens against lists."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = {Token.CPU: 2, Token.NETWORK: 2}
        self.table = TokenTable(self.counts, LIMIT_US)
        self.now_us = 0
        self.held: dict[Token, list[tuple[int, int]]] = {token: [] for token in Token}
        self.waiting: dict[Token, list[tuple[int, int]]] = {token: [] for token in Token}

    def expected(self) -> list[int]:
        """Holders that the lists give a token to."""
        granted = []
        for token in Token:
            while self.waiting[token] and len(self.held[token]) < self.counts[token]:
                first = min(self.waiting[token], key=lambda each: each[1])
                self.waiting[token].remove(first)
                holder, _ = first
                self.held[token].append((holder, self.now_us))
                granted.append(holder)
        return granted

    def is_known(self, holder: int) -> bool:
        return any(
            holder in dict(self.waiting[token]) or holder in dict(self.held[token])
            for token in Token
        )

    def forget(self, holder: int) -> None:
        for token in Token:
            self.held[token] = [each for each in self.held[token] if each[0] != holder]
            self.waiting[token] = [each for each in self.waiting[token] if each[0] != holder]

    @rule(holder=HOLDERS, token=st.sampled_from(Token), began_us=st.integers(0, 4))
    def request(self, holder: int, token: Token, began_us: int) -> None:
        if self.is_known(holder):
            with pytest.raises(BadTokenRequest):
                self.table.request(holder, token, self.now_us, began_us)
            return
        self.waiting[token].append((holder, began_us))
        assert self.table.request(holder, token, self.now_us, began_us) == self.expected()

    @rule(holder=HOLDERS)
    def release(self, holder: int) -> None:
        self.forget(holder)
        assert self.table.release(holder, self.now_us) == self.expected()

    @rule(passed_us=st.integers(0, LIMIT_US))
    def time_passes(self, passed_us: int) -> None:
        self.now_us += passed_us

    @rule()
    def expire(self) -> None:
        for token in Token:
            oldest = self.held[token][: len(self.waiting[token])]
            for holder, since_us in oldest:
                if self.now_us - since_us >= LIMIT_US:
                    self.forget(holder)
        assert sorted(self.table.expire(self.now_us)) == sorted(self.expected())

    @precondition(lambda self: any(self.waiting.values()))
    @rule()
    def wait_for_the_next_expiry(self) -> None:
        expiry_us = self.table.next_expiry_us()
        assert expiry_us is not None
        self.now_us = max(self.now_us, expiry_us)
        granted = self.table.expire(self.now_us)
        assert granted
        for token in Token:
            for holder, since_us in self.held[token][: len(self.waiting[token])]:
                if self.now_us - since_us >= LIMIT_US:
                    self.forget(holder)
        assert sorted(granted) == sorted(self.expected())

    @invariant()
    def only_the_first_holder_of_the_network_is_primary(self) -> None:
        held = [holder for holder, _ in self.held[Token.NETWORK]]
        assert self.table.first(Token.NETWORK) == (held[0] if held else None)
        assert [each for each in range(8) if self.table.is_second(each)] == sorted(held[1:])

    @invariant()
    def nothing_expires_while_no_holder_waits(self) -> None:
        assert (self.table.next_expiry_us() is None) == (not any(self.waiting.values()))


TestTokensOfAMachine = TokensOfAMachine.TestCase


def test_jobs_get_their_turns_in_the_same_order_on_all_machines() -> None:
    """Their requests arrive in opposite orders, while a third job computes."""
    orders = []
    for arrivals in ((1, 2), (2, 1)):
        table = TokenTable({Token.CPU: 1, Token.NETWORK: 1}, LIMIT_US)
        table.request(3, Token.CPU, 0, began_us=5)
        for job in arrivals:
            assert table.request(job, Token.CPU, 1, began_us=10 * job) == []
        orders.append([*table.release(3, 2), *table.release(1, 3)])
    assert orders == [[1, 2], [1, 2]]
