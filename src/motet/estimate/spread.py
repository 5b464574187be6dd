"""Slowdown of a gang that is spread over machines, as a function of its model's skew.

The load of the machine that hosts a skewed model's largest tensor decreases linearly with the
number of the gang's workers on that machine (Tiresias' T_i, Gu et al., NSDI 2019, section 3.3.1).
A gang whose largest part has w workers, where w* could be together, is therefore assumed to run

    1 + c * skew^2 * (1 - w / w*)

times as long. The square and c agree with Tiresias' measurements: placement mattered for the VGG
family and AlexNet (skew 0.6 to 0.8) but hardly for models with less skew (figure 3), with a factor
of up to 1.67 (section 5.2), reached here by 8 GPUs of VGG on 8 machines instead of 2.

A gang whose largest rack has r of its workers, where r* could be, takes longer by

    (k + c * skew^2) * (1 - r / r*)

of its consolidated time: crossing racks costs a skewed model as much again as crossing machines,
and any model k = 0.2, a tenth for two halves. No measurement by racks is available: both are
assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence

RACK_SLOWDOWN = 0.2
"""See `rack_slowdown`."""
_SLOWDOWN = 0.67 / 0.77**2 / (1 - 1 / 4)


def by_skew(skew: float) -> float:
    """c * skew^2."""
    return _SLOWDOWN * skew**2


def part_apart(counts: Sequence[int], largest: int) -> float:
    """1 - w / w*. `counts`: GPUs on each machine; `largest`: GPUs of the largest machine."""
    return 1 - max(counts) / min(sum(counts), largest)


def spread_slowdown(skew: float, counts: Sequence[int], largest: int) -> float:
    """The run time relative to one machine, at least 1."""
    return 1 + by_skew(skew) * part_apart(counts, largest)


def rack_slowdown(skew: float, counts: Sequence[int], largest: int) -> float:
    """Additional run time for spreading over racks, relative to the consolidated time; see above.

    `counts`: GPUs in each rack; `largest`: GPUs of the largest rack.
    """
    return (RACK_SLOWDOWN + by_skew(skew)) * part_apart(counts, largest)
