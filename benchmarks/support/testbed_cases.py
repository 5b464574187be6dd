"""What is trained on the testbed, and on which hosts.

Hosts are slow in COMP and fast on the link (0.2 CPUs, 100 Mbit/s): then little data is enough for
COMP to be some ten times COMM on one worker, which puts the best configuration into the middle of
the grid; little data move quickly; and eight hosts take 1.6 CPUs together, so on two cores neither
they nor the driver wait for a core. A mini-batch's COMP must take much longer than a period of the
quotas: its first slice comes at once, so short COMP seems to look too fast (MLR at 0.1 CPUs in
periods of 20 ms: by 27 % with six workers, 42 % with seven, none of it at 0.2 CPUs, in periods of
5 ms and with larger mini-batches). Hence two mini-batches per epoch, and applications that compute
much for each byte of data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

CPUS, BANDWIDTH = "0.2", "100mbit"
FAST_HOSTS, FAST_CPUS, SLOW_CPUS = 2, "0.4", "0.13"
MOVES_BANDWIDTH, MOVES_BYTES_PER_S = "50mbit", 6.25e6
"""Where moves are measured, CPUs are not to be what limits them: hosts have no quotas."""
HURRIED_CPUS = {"0.6": ["all"]}
"""While executors start, and while blocks move and nothing is measured."""


@dataclass(frozen=True)
class Case:
    """An application on generated data; `settings` as for `--set`; `cpus`: of every host.

    `quiet_epochs`: in which a job that configures itself would surely have decided again;
    `warm_up_epochs`: hurried, before anything is measured, while COMP still becomes faster.
    """

    app: str
    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    quiet_epochs: int = 8
    warm_up_epochs: int = 0
    cpus: str = CPUS

    @property
    def quotas(self) -> Mapping[str, Sequence[str]]:
        """Hosts by CPUs, where all are equal."""
        return {self.cpus: ["all"]}


CASES: Mapping[str, Case] = MappingProxyType(
    {
        "nmf": Case(
            "nmf",
            "synthetic-ratings:users=15000,items=600,rank=16,density=0.8,seed=1",
            {"rank": 160, "batch_size": 7500},
        ),
        "mlr": Case(
            "mlr",
            "synthetic-classification:rows=20000,features=60,classes=800,density=0.9,seed=1",
            {"solver": "saga", "batch_size": 10000},
        ),
        # Flat priors: with few topics per document COMP would become still faster in time.
        "lda": Case(
            "lda",
            "synthetic-corpus:documents=4500,words=1000,topics=50,length=400,seed=1",
            {"topics": 400, "alpha": 0.5, "beta": 1.0, "batch_size": 2250},
            warm_up_epochs=20,
        ),
        # A mini-batch is all the data: one per epoch. Few bytes need little COMP.
        "lasso": Case(
            "lasso",
            "synthetic-classification:rows=1000,features=20000,classes=2,density=0.5,seed=1",
            {"solver": "fista"},
            quiet_epochs=40,
            cpus="0.1",
        ),
    }
)

OPPORTUNISTIC = Case(
    "lda",
    "synthetic-corpus:documents=6000,words=100,topics=50,length=400,seed=1",
    {"topics": 400, "alpha": 0.5, "beta": 1.0, "batch_size": 3000},
    quiet_epochs=16,
)
"""For hosts that come and go: few words, so that COMM, which more hosts do not shorten, is little;
and few bytes per document, so that a minute's notice is enough to drain hosts that go on training.
"""
