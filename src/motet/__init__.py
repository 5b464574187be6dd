"""Motet trains many machine-learning models at once on one cluster.

The names below load their module on first use, so `import motet` costs next to nothing:

    from motet import NMF
    model = NMF(rank=16).fit(ratings)

    from motet import train
    train("mlr", "digits", workers=2, servers=1).plot_loss()

    from motet import simulate
    simulate("jobs.csv", cluster="15x4", policy=["fifo", "tiresias-las"]).plot_jct_cdf()
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOME_OF = {
    "BadInput": "motet.domain.errors",
    "Client": "motet.interfaces.live_cluster.client",
    "Cluster": "motet.interfaces.training",
    "KMeans": "motet.apps.kmeans",
    "LDA": "motet.apps.lda",
    "Lasso": "motet.apps.lasso",
    "LinearRegression": "motet.apps.linear_regression",
    "LinearSVM": "motet.apps.linear_svm",
    "LogisticRegression": "motet.apps.logistic_regression",
    "MLR": "motet.apps.mlr",
    "MotetError": "motet.domain.errors",
    "NMF": "motet.apps.nmf",
    "RemoteBuffer": "motet.remote_memory.buffer.remote_buffer",
    "compare": "motet.interfaces.simulations.comparison",
    "explain": "motet.interfaces.simulations.explanation",
    "load_application": "motet.apps",
    "load_model": "motet.apps",
    "load_policy": "motet.interfaces.simulations.policies",
    "load_trace": "motet.interfaces.python",
    "ratings_from_frame": "motet.datasets.rating_frames",
    "simulate": "motet.interfaces.python",
    "train": "motet.interfaces.training",
}


def __getattr__(name: str) -> object:
    """Import the public name `name` from its home module on first use (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'motet' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*_HOME_OF, "__version__"])
