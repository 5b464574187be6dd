"""The warning of a training that ran out of epochs before it had converged."""

from __future__ import annotations

import warnings

from motet.runtime.core.convergence import Convergence


def warn_unless_converged(name: str, epochs: int, convergence: Convergence | None) -> None:
    """Warn with scikit-learn's ConvergenceWarning; nothing where `tol` is 0."""
    if convergence is None or not convergence.is_missed:
        return
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"{name} has not converged after epochs={epochs}: {convergence}; raise epochs, or tol if "
        "that is close enough",
        ConvergenceWarning,
        stacklevel=3,
    )
