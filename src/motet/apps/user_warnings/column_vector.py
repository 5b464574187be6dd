"""The warning of a target that is a table of one column."""

from __future__ import annotations

from motet.apps.user_warnings.call_site import CallSite


def warn_of_column_vector() -> None:
    """Warn with scikit-learn's DataConversionWarning, in its words."""
    from sklearn.exceptions import DataConversionWarning

    CallSite.of_caller().warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples,), for example using ravel().",
        DataConversionWarning,
    )
