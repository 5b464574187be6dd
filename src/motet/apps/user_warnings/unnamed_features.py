"""The warning about named columns for a model whose training data had no names."""

from motet.apps.user_warnings.call_site import CallSite


def warn_of_unnamed_features(model_name: str) -> None:
    """Warn at the caller's line that columns are taken by position, as scikit-learn does."""
    CallSite.of_caller().warn(
        f"X has feature names, but {model_name} was fitted without; its columns are taken in "
        "their order, which nothing can check",
        UserWarning,
    )
