"""Data sets: readers of files, bundled data and generators, which produce one of three kinds.

Readers are loaded at the first use of `open_dataset`: applications need the kinds alone.
"""

from typing import TYPE_CHECKING

from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings

if TYPE_CHECKING:
    from motet.datasets.opening import open_dataset

__all__ = ["Corpus", "Dataset", "LabelledMatrix", "Ratings", "open_dataset"]


def __getattr__(name: str) -> object:
    """Import `open_dataset` (PEP 562)."""
    if name != "open_dataset":
        raise AttributeError(f"module 'motet.datasets' has no attribute {name!r}")
    from motet.datasets.opening import open_dataset

    return open_dataset
