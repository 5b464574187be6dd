"""Data sets: readers of files, bundled data and generators, which produce one of three kinds."""

from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings
from motet.datasets.opening import open_dataset

__all__ = ["Corpus", "Dataset", "LabelledMatrix", "Ratings", "open_dataset"]
