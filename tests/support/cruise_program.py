"""The paper's integer program of one job's configuration, for HiGHS: an oracle for few machines.

Cruise, figure 3, per machine and in whole blocks. |w| m_j is bilinear; it is the sum over machines
i of (i works) m_j, each product linear by a big M. So is ceil(d_i / B) P_i where B is each
worker's, with the number of mini-batches in binary digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

from motet.estimate.epoch_cost import Configuration, Fleet, Profile

Terms = dict[int, float]


def optimal_configuration(profile: Profile, fleet: Fleet, limit_s: float = 60) -> Configuration:
    """By HiGHS, to a gap of 1e-6. Raises ValueError if it does not get there in time."""
    return _Program(profile, fleet).solve(limit_s)


class _Program:
    def __init__(self, profile: Profile, fleet: Fleet) -> None:
        self._profile = profile
        self._size = fleet.size
        self._rows: list[tuple[float, float, Terms]] = []
        self._upper: list[float] = []
        self._is_integer: list[int] = []
        self._comp_s = fleet.comp_s[fleet.type_of] * profile.block_instances
        self._block_s = profile.block_bytes / fleet.bandwidths[np.ix_(fleet.type_of, fleet.type_of)]
        self._longest_exchange_s = self._size * profile.model_blocks * self._block_s.max()
        self._works = self._columns(1, is_integer=True)
        self._data = self._columns(profile.data_blocks, is_integer=True)
        self._model = self._columns(profile.model_blocks, is_integer=True)
        self._exchange = self._columns(self._longest_exchange_s)
        self._epoch = self._column(np.inf)
        self._place_blocks()
        self._bound_exchanges()
        self._bound_epochs()
        self._order_equals(fleet)

    def solve(self, limit_s: float) -> Configuration:
        matrix = lil_array((len(self._rows), len(self._upper)))
        for number, (_, _, terms) in enumerate(self._rows):
            for column, factor in terms.items():
                matrix[number, column] = factor
        goal = np.zeros(len(self._upper))
        goal[self._epoch] = 1.0
        solved = milp(
            goal,
            integrality=np.array(self._is_integer),
            bounds=Bounds(np.zeros(len(goal)), np.array(self._upper)),
            constraints=LinearConstraint(
                matrix.tocsr(), [row[0] for row in self._rows], [row[1] for row in self._rows]
            ),
            options={"mip_rel_gap": 1e-6, "time_limit": limit_s},
        )
        if not solved.success:
            raise ValueError(solved.message)
        return Configuration(self._whole(solved.x, self._data), self._whole(solved.x, self._model))

    def _place_blocks(self) -> None:
        """All blocks are somewhere; data only at workers, model only elsewhere."""
        profile = self._profile
        self._require(*[profile.data_blocks] * 2, dict.fromkeys(self._data, 1.0))
        self._require(*[profile.model_blocks] * 2, dict.fromkeys(self._model, 1.0))
        for works, data, model in zip(self._works, self._data, self._model, strict=True):
            self._require(-np.inf, 0, {data: 1.0, works: -profile.data_blocks})
            self._require(-np.inf, profile.model_blocks, {model: 1.0, works: profile.model_blocks})
            self._require(0, np.inf, {data: 1.0, works: -1.0})

    def _bound_exchanges(self) -> None:
        """P_i is at least the time on each server's link and on the worker's."""
        products = [
            [self._product(works, model, self._profile.model_blocks) for works in self._works]
            for model in self._model
        ]
        for worker, exchange in enumerate(self._exchange):
            seconds = self._block_s[worker]
            for server in range(self._size):
                terms = dict.fromkeys(products[server], float(-seconds[server]))
                self._require(0, np.inf, {exchange: 1.0, **terms})
            own = {m: float(-s) for m, s in zip(self._model, seconds, strict=True)}
            self._require(0, np.inf, {exchange: 1.0, **own})

    def _bound_epochs(self) -> None:
        for worker in range(self._size):
            comm = self._comm(worker)
            comp = {self._data[worker]: -float(self._comp_s[worker])}
            self._require(0, np.inf, {self._epoch: 1.0, **comp, **comm})

    def _comm(self, worker: int) -> Terms:
        """Minus the seconds that a worker exchanges in."""
        exchange, longest_s = self._exchange[worker], self._longest_exchange_s
        if self._profile.is_batch_global:
            mine = self._product(self._works[worker], exchange, longest_s)
            return {mine: -float(self._profile.global_batches)}
        digits = int(np.ceil(self._profile.instances / self._profile.batch_size)).bit_length()
        binary = [self._column(1, is_integer=True) for _ in range(digits)]
        batches = {digit: float(2**n) for n, digit in enumerate(binary)}
        per_block = self._profile.block_instances / self._profile.batch_size
        self._require(-1e-9, np.inf, {**batches, self._data[worker]: -per_block})
        products = [self._product(digit, exchange, longest_s) for digit in binary]
        return {product: -float(2**n) for n, product in enumerate(products)}

    def _order_equals(self, fleet: Fleet) -> None:
        """Of equal machines the earlier ones work: without this, most of the tree is repeated."""
        for first in range(self._size - 1):
            if fleet.type_of[first] == fleet.type_of[first + 1]:
                for columns, sign in ((self._works, 1.0), (self._data, 1.0), (self._model, -1.0)):
                    self._require(0, np.inf, {columns[first]: sign, columns[first + 1]: -sign})

    def _product(self, binary: int, other: int, most: float) -> int:
        """A column that is at least `binary * other`, where `other` is at most `most`."""
        product = self._column(most)
        self._require(-most, np.inf, {product: 1.0, other: -1.0, binary: -most})
        return product

    def _columns(self, upper: float, is_integer: bool = False) -> list[int]:
        return [self._column(upper, is_integer) for _ in range(self._size)]

    def _column(self, upper: float, is_integer: bool = False) -> int:
        self._upper.append(upper)
        self._is_integer.append(int(is_integer))
        return len(self._upper) - 1

    def _require(self, low: float, high: float, terms: Terms) -> None:
        self._rows.append((low, high, terms))

    def _whole(self, values: NDArray[np.float64], columns: list[int]) -> tuple[int, ...]:
        return tuple(round(values[column]) for column in columns)
