"""The three shapes in which training data lies in memory: a matrix, ratings, a corpus.

Every reader ends in one of these, every application starts from one. They are frozen records
around NumPy arrays; nothing here touches a file.
"""

from motet.datasets.kinds.base import Dataset
from motet.datasets.kinds.corpus import Corpus
from motet.datasets.kinds.matrix import LabelledMatrix
from motet.datasets.kinds.ratings import Ratings

__all__ = ["Corpus", "Dataset", "LabelledMatrix", "Ratings"]
