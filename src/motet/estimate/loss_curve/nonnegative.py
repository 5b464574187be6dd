"""Exact least squares for a k^2 + b k + c with a, b, c >= 0.

Three unknowns have seven faces, one per non-empty set of unknowns that are not 0. The optimum on a
face is a linear system; the result is the best feasible one of these optima.

Polynomials are triples (p0, p1, p2) in tau, where u = k / latest = 1 + sigma tau and tau runs from
-1, the oldest report, to 0, the latest: powers of k itself are nearly collinear over a short
window, which would lose most digits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Floats

Polynomial = tuple[float, float, float]

INFEASIBLE = -np.inf


@njit(cache=True, error_model="numpy")
def nonnegative_polynomial(moments: Floats, sums: Floats, sigma: float, degree: int) -> Polynomial:
    """The polynomial with the least weighted squares.

    `moments: (5,)` sums of weight * tau^i, `sums: (3,)` of weight * value * tau^i, values positive.
    `degree`: 2, or 1 for a = 0.
    """
    if degree == 2:
        whole = _unbounded(moments, sums)
        a = whole[2] / (sigma * sigma)
        b = whole[1] / sigma - 2 * a
        if a >= 0.0 and b >= 0.0 and whole[0] - a - b >= 0.0:
            return whole
    return _best_face(moments, sums, sigma, degree)


@njit(cache=True, error_model="numpy")
def _best_face(moments: Floats, sums: Floats, sigma: float, degree: int) -> Polynomial:
    """The best feasible point with one or two of a, b, c."""
    one, u, square = (1.0, 0.0, 0.0), (1.0, sigma, 0.0), (1.0, 2 * sigma, sigma * sigma)
    best, most = _ray(moments, sums, one)
    best, most = _better(best, most, _ray(moments, sums, u))
    best, most = _better(best, most, _pair(moments, sums, sigma, one, (0.0, 1.0, 0.0)))
    if degree == 2:
        best, most = _better(best, most, _ray(moments, sums, square))
        best, most = _better(best, most, _pair(moments, sums, sigma, one, (0.0, 2.0, sigma)))
        best, most = _better(best, most, _pair(moments, sums, sigma, u, (0.0, 1.0, sigma)))
    return best


@njit(cache=True, error_model="numpy")
def _better(
    best: Polynomial, most: float, other: tuple[Polynomial, float]
) -> tuple[Polynomial, float]:
    return other if other[1] > most else (best, most)


@njit(cache=True, error_model="numpy")
def _ray(moments: Floats, sums: Floats, along: Polynomial) -> tuple[Polynomial, float]:
    """The best multiple of one power, and the reduction of the squares by it."""
    cross, square = _times_values(sums, along), _product(moments, along, along)
    length = cross / square
    return (length * along[0], length * along[1], length * along[2]), length * cross


@njit(cache=True, error_model="numpy")
def _pair(
    moments: Floats, sums: Floats, sigma: float, low: Polynomial, step: Polynomial
) -> tuple[Polynomial, float]:
    """The best sum of two powers, `low` and `low` + sigma `step`, and its reduction of
    the squares.
    """
    ll, ls, ss = (
        _product(moments, low, low),
        _product(moments, low, step),
        _product(moments, step, step),
    )
    l_cross, s_cross = _times_values(sums, low), _times_values(sums, step)
    determinant = ll * ss - ls * ls
    if determinant <= 0.0:
        return low, INFEASIBLE
    p = (l_cross * ss - s_cross * ls) / determinant
    q = (s_cross * ll - l_cross * ls) / determinant
    if q < 0.0 or p - q / sigma < 0.0:
        return low, INFEASIBLE
    point = (p * low[0] + q * step[0], p * low[1] + q * step[1], p * low[2] + q * step[2])
    return point, p * l_cross + q * s_cross


@njit(cache=True, error_model="numpy")
def _unbounded(m: Floats, s: Floats) -> Polynomial:
    """Least squares without bounds, by elimination; (-1, 0, 0) if it is not unique."""
    ratio1, ratio2 = m[1] / m[0], m[2] / m[0]
    a11, a12, a22 = m[2] - ratio1 * m[1], m[3] - ratio1 * m[2], m[4] - ratio2 * m[2]
    b1, b2 = s[1] - ratio1 * s[0], s[2] - ratio2 * s[0]
    if a11 <= 0.0:
        return -1.0, 0.0, 0.0
    ratio = a12 / a11
    pivot = a22 - ratio * a12
    if pivot <= 0.0:
        return -1.0, 0.0, 0.0
    p2 = (b2 - ratio * b1) / pivot
    p1 = (b1 - a12 * p2) / a11
    return (s[0] - m[1] * p1 - m[2] * p2) / m[0], p1, p2


@njit(cache=True, error_model="numpy")
def _product(m: Floats, f: Polynomial, g: Polynomial) -> float:
    """Weighted sum of f g."""
    return float(
        f[0] * g[0] * m[0]
        + (f[0] * g[1] + f[1] * g[0]) * m[1]
        + (f[0] * g[2] + f[1] * g[1] + f[2] * g[0]) * m[2]
        + (f[1] * g[2] + f[2] * g[1]) * m[3]
        + f[2] * g[2] * m[4]
    )


@njit(cache=True, error_model="numpy")
def _times_values(sums: Floats, f: Polynomial) -> float:
    """Weighted sum of f and the values."""
    return float(f[0] * sums[0] + f[1] * sums[1] + f[2] * sums[2])
