"""The plot of jobs that arrive at a pool of Aggregators and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np


def save_case_figure(
    samples: Sequence[Sequence[float]], curves: Mapping[str, np.ndarray], path: Path
) -> None:
    """`samples`: seconds, Aggregators, those that serve, servers of the jobs' own. `curves`: by
    job, when each iteration ended and how long it took."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    at_s, aggregators, serving, servers = np.array(samples).T
    figure, (above, below) = pyplot.subplots(
        2, 1, figsize=(8, 5), sharex=True, layout="constrained", height_ratios=(3, 2)
    )
    above.step(at_s, servers, where="post", color="#8d99ae", label="servers of each job's own")
    above.step(at_s, aggregators, where="post", color="#2a9d8f", label="Aggregators")
    above.step(at_s, serving, where="post", color="#2a9d8f", linestyle=":", label="... that serve")
    above.set_ylabel("processes")
    above.set_ylim(bottom=0)
    above.legend(frameon=False, fontsize=8)
    for name, found in curves.items():
        below.plot(found[:, 0], 1e3 * found[:, 1], ".", markersize=2, label=name)
    below.set_yscale("log")
    below.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    below.yaxis.set_minor_locator(ticker.NullLocator())
    below.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    below.set_ylabel("iteration (ms)")
    below.set_xlabel("seconds")
    below.legend(
        frameon=False, fontsize=8, ncols=4, markerscale=4, loc="lower left", bbox_to_anchor=(0, 1)
    )
    for axes in (above, below):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
