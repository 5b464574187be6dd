"""The partial-allocation auction where GPUs can be divided: two kinds of them, linear values.

v_i(x) = a_i x_1 + b_i x_2 with one unit of each kind. Everybody spends a budget of 1 at the prices
that clear the market, which is proportional fairness (Eisenberg and Gale). In the order of a_i/b_i
the first buy only kind 1, the last only kind 2, and one between them may buy both: closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Floats


def proportionally_fair(values: Floats) -> Floats:
    """`values: (bidders, 2)`, positive -> `(bidders, 2)` of each kind."""
    count = len(values)
    ratios = values[:, 0] / values[:, 1]
    order = np.argsort(-ratios, kind="stable")
    spent = _spent_on_first(ratios[order], count)
    got = np.zeros((count, 2))
    got[order, 0] = spent / spent.sum()
    got[order, 1] = (1 - spent) / (1 - spent).sum()
    return got


def _spent_on_first(ratios: Floats, count: int) -> Floats:
    """Of each budget of 1, in descending order of ratios."""
    spent = np.zeros(count)
    for place in range(count):
        both = count * ratios[place] / (1 + ratios[place])
        if both <= place:
            return spent
        spent[place] = min(both - place, 1.0)
        if both < place + 1:
            return spent
    return spent


def log_product(values: Floats, got: Floats) -> float:
    """Of what they have."""
    return math.fsum(np.log((values * got).sum(axis=1)).tolist())


def kept(values: Floats, got: Floats, bidder: int) -> float:
    """The fraction c_i."""
    others = np.delete(values, bidder, axis=0)
    without = log_product(others, proportionally_fair(others))
    return math.exp(log_product(others, np.delete(got, bidder, axis=0)) - without)


def utility(reported: Floats, truth: Sequence[float] | Floats, bidder: int) -> float:
    """What a bidder has after its hidden payment, by its true values."""
    got = proportionally_fair(reported)
    return kept(reported, got, bidder) * float(np.dot(truth, got[bidder]))
