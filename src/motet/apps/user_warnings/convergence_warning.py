"""The warning of a training that ran out of epochs before it had converged."""

from __future__ import annotations

from motet.apps.user_warnings.call_site import CallSite
from motet.runtime.core.convergence import Convergence


def warn_unless_converged(
    name: str, epochs: int, convergence: Convergence | None, caller: CallSite | None = None
) -> None:
    """Warn with scikit-learn's ConvergenceWarning; nothing where `tol` is 0.

    `caller`: the line that the warning names; None: the one that called Motet on this thread.
    """
    if convergence is None or not convergence.is_missed:
        return
    from sklearn.exceptions import ConvergenceWarning

    (caller or CallSite.of_caller()).warn(
        f"{name} has not converged after epochs={epochs}: {convergence}; raise epochs, or tol if "
        "that is close enough",
        ConvergenceWarning,
    )
