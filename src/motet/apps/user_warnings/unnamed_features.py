"""The warning about named columns for a model whose training data had no names."""

from motet.apps.user_warnings.call_site import CallSite


def warn_of_unnamed_features(source: str, model_name: str) -> None:
    """Warn at the caller's line that columns are taken by position, as scikit-learn does.

    `source`: the file of the data, or X.
    """
    CallSite.of_caller().warn(
        f"{source} has feature names, but {model_name} was fitted without; its columns are taken "
        "in their order, which nothing can check",
        UserWarning,
    )
