"""A figure that a notebook shows by itself, whether or not pyplot is loaded."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

_NOTEBOOK_DPI = 100


class NotebookFigure(Figure):
    """A matplotlib figure without pyplot: no window, no state of its own beside the object."""

    def _repr_png_(self) -> bytes:
        """The picture, for the rich display of IPython."""
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=_NOTEBOOK_DPI)
        return picture.getvalue()


def blank_figure(width_in: float, height_in: float) -> NotebookFigure:
    """An empty white figure; its layout keeps labels inside. Sizes in inches."""
    return NotebookFigure(figsize=(width_in, height_in), facecolor="white", layout="constrained")
