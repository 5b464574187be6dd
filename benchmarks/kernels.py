"""The applications' inner loops beside well-known libraries: CPU-seconds of one thread.

Own code and peer take turns in one run; every figure is a ratio of medians. Targets: SGD matrix
factorisation 20 M ratings/s or 0.4 x cornac, LDA 0.5 x tomotopy and 2 x the lda package, sparse MLR
2 x SciPy, Lasso within 2 x of scikit-learn. `--only lda-run` measures whole LDA runs over parameter
servers, all processes together; target: at most 2 x tomotopy. A peer that is not installed is named
and left out:

    pip install cornac tomotopy lda
    python benchmarks/kernels.py [--quick] [--only nmf] [--json FILE]
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from support.figures import RESULTS, Figure, parser, report
from support.linear_kernels import linear_figures
from support.rating_kernels import rating_figures
from support.topic_kernels import topic_figures
from support.topic_runs import topic_run_figures

GROUPS: dict[str, Callable[[bool], list[Figure]]] = {
    "nmf": rating_figures,
    "lda": topic_figures,
    "lda-run": topic_run_figures,
    "linear": linear_figures,
}


def main() -> None:
    """Measure every group, print, write."""
    flags = parser(__doc__.splitlines()[0])
    flags.add_argument("--only", choices=GROUPS, help="one group of kernels")
    flags.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    chosen = flags.parse_args()
    groups = [GROUPS[chosen.only]] if chosen.only else GROUPS.values()
    figures = [figure for group in groups for figure in group(chosen.quick)]
    report("kernels", "Kernels beside their peers, one thread, CPU-seconds", figures)
    if chosen.json is not None:
        shutil.copyfile(RESULTS / "kernels.json", chosen.json)


if __name__ == "__main__":
    main()
