"""Simulations whose figures are made but not drawn, for tests of everything else in a folder.

Drawing the figures of one run takes a second; what they show is tested in `report/figures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from motet.report.simulation import folder


@contextmanager
def blank_pictures() -> Iterator[None]:
    """Files of figures in folders of simulations have their names and no picture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "save", _write_blank)
        yield


def _write_blank(figure: Figure, path: Path) -> None:
    assert figure.axes
    path.write_bytes(b"")
