"""The three kinds of training data in memory: a matrix, ratings, a corpus.

Every reader returns one of them, every application takes one. They are frozen records of NumPy
arrays, without access to files.
"""

from motet.datasets.kinds.base import Dataset
from motet.datasets.kinds.corpus import Corpus
from motet.datasets.kinds.matrix import LabelledMatrix
from motet.datasets.kinds.ratings import Ratings

__all__ = ["Corpus", "Dataset", "LabelledMatrix", "Ratings"]
