"""How well three sizes of a gang tell the speed of a fourth, and how well any function could.

Gavel's measurements, on one machine and with every GPU on its own. Costs of a ring, of a tree or of
a boundary between machines only add to a step, so under any of these functions a GPU of a larger
gang is no faster than one of a smaller gang. Where it was measured to be faster, every such
function is off by at least half of the (logarithmic) difference at one of both sizes: the floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from motet.estimate.speed_fit import fit_speed
from motet.sim.profiles import bundled_profiles
from support.figures import Figure, parser, report

SIZES = (1, 2, 4, 8)
HELD_OUT = (2, 4)
RISES = 1.02
"""A GPU that is faster by no more than this is as fast."""


def gangs(kind: str, *, together: bool) -> list[dict[int, float]]:
    """Steps per second by number of GPUs, of every model that was measured at all sizes."""
    profiles, found = bundled_profiles(), []
    for (model, measured_on), alone in profiles.alone.items():
        apart = profiles.spread.get((model, measured_on), {})
        if measured_on != kind or not alone.keys() >= {*SIZES}:
            continue
        if together:
            found.append({size: alone[size] for size in SIZES})
        elif apart.keys() >= {*SIZES} - {1}:
            found.append({size: alone[size] * apart.get(size, 1.0) for size in SIZES})
    return [speeds for speeds in found if min(speeds.values()) > 0]


def errors(speeds: Mapping[int, float]) -> list[float]:
    """Of the fitted function at every size that is held out."""
    made = []
    for held_out in HELD_OUT:
        known = [(gpus, 0, speeds[gpus]) for gpus in SIZES if gpus != held_out]
        fitted = fit_speed(np.array(known, dtype=np.float64))
        made.append(abs(fitted.steps_per_s(held_out, 0) / speeds[held_out] - 1))
    return made


def floor(speeds: Mapping[int, float]) -> float:
    """The error that no function avoids at all sizes."""
    return max(
        max(per_gpu(speeds, more) / per_gpu(speeds, fewer), 1.0) ** 0.5 - 1
        for fewer, more in combinations(SIZES, 2)
    )


def per_gpu(speeds: Mapping[int, float], size: int) -> float:
    """Of a gang of this size."""
    return speeds[size] / size


def figures_of(kind: str, *, together: bool) -> list[Figure]:
    """Errors, the floor, and which sizes contradict each other."""
    cases = gangs(kind, together=together)
    name = f"{kind}, {'one machine' if together else 'a machine each'}"
    off = [error for speeds in cases for error in errors(speeds)]
    floors = [floor(speeds) for speeds in cases]
    figures = [
        Figure(
            f"{name}: error, median of {len(off)}",
            f"{np.median(off):.1%}",
            f"90 %: {np.quantile(off, 0.9):.1%}",
            float(np.median(off)),
        ),
        Figure(
            f"{name}: floor, median of {len(floors)}",
            f"{np.median(floors):.1%}",
            f"90 %: {np.quantile(floors, 0.9):.1%}",
            float(np.median(floors)),
        ),
    ]
    for fewer, more in combinations(SIZES, 2):
        rising = [per_gpu(each, more) > RISES * per_gpu(each, fewer) for each in cases]
        figures.append(
            Figure(
                f"{name}: a GPU of {more} faster than of {fewer}",
                f"{sum(rising)}",
                f"of {len(cases)}",
            )
        )
    return figures


def main() -> None:
    """Every type of GPU, on one machine and on one for each."""
    parser(__doc__.splitlines()[0]).parse_args()
    found = [
        figure
        for kind in ("v100", "p100", "k80")
        for together in (True, False)
        for figure in figures_of(kind, together=together)
    ]
    report("speed_functions", "Speeds of gangs: predicted from three sizes", found, plot=False)


if __name__ == "__main__":
    main()
