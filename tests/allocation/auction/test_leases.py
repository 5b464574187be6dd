"""What winners keep."""

from __future__ import annotations

import numpy as np
import pytest

from motet.allocation.auction.leases import by_lot, kept_us
from motet.allocation.auction.rounds import Award
from motet.domain.snapshot import Placement


def award(bidder: int, kept: float) -> Award:
    return Award(bidder, bidder, 1, Placement((0,), (1,)), 1.0, kept)


def test_a_hidden_payment_shortens_the_lease() -> None:
    assert kept_us(award(0, 0.25)) == 150_000_000
    assert kept_us(award(0, 1.0), lease_us=7) == 7
    assert kept_us(award(0, 0.0)) == 0


def test_a_winner_keeps_its_award_with_probability_c() -> None:
    awards = [award(0, 0.0), award(1, 0.3), award(2, 1.0)]
    rng = np.random.default_rng(0)
    kept = [each.bidder for _ in range(4000) for each in by_lot(awards, rng)]
    assert kept.count(0) == 0
    assert kept.count(1) == pytest.approx(1200, abs=100)
    assert kept.count(2) == 4000


def test_lots_are_those_of_the_seed() -> None:
    awards = [award(number, 0.5) for number in range(20)]
    draws = [by_lot(awards, np.random.default_rng(3)) for _ in range(2)]
    assert draws[0] == draws[1]
