"""Tables of users x items: a row per user, a column per item, a cell is a rating or empty.

A pivot table, as `pandas.DataFrame.to_csv` writes it with its index of users.
"""

from __future__ import annotations

import numpy as np

from motet.datasets.files import InputFile
from motet.datasets.formats.tables.cells import NumberTable
from motet.datasets.formats.tables.columns import INDEX_NAMES
from motet.datasets.formats.tables.layout import CellLayout, layout_of
from motet.datasets.formats.tables.rating_cells import ids_of, read_texts
from motet.datasets.formats.tables.separator import Separator
from motet.datasets.formats.tables.text_cells import is_of_words
from motet.datasets.kinds import Ratings
from motet.datasets.rating_frames import LONG_WIDTHS, rating_columns, ratings_from_columns

_NA = ("NA", "N/A", "NULL", "null")
NOTE = "a table of users x items: its first column are the users, empty cells are no ratings"


def wide_layout(file: InputFile) -> CellLayout | None:
    """The layout of such a table; None for another file.

    Its first column is called as users are, or as an index; no other is called as items or
    ratings are, and all hold numbers.
    """
    line = file.head.lines[0] if file.head.lines else ""
    cells = Separator.in_line(line).split(line)
    user, item, rating = rating_columns(cells)
    is_named = user == 0 or (user is None and cells[:1] and cells[0] in INDEX_NAMES)
    if not is_named or len(cells) <= max(LONG_WIDTHS) or item is not None or rating is not None:
        return None
    layout = layout_of(file, _NA, (cells[0],), reads_commas=True)
    columns = range(1, layout.column_count)
    return None if any(is_of_words(layout, column, _NA) for column in columns) else layout


def read_wide(layout: CellLayout) -> Ratings:
    """The ratings of such a table. Raises BadInput."""
    columns = tuple(range(1, layout.column_count))
    values = NumberTable.read(layout, columns, _NA).values
    users, items = np.nonzero(~np.isnan(values))
    source = layout.file
    if not len(users):
        raise source.complaint("every cell is empty", "give a table with ratings")
    return ratings_from_columns(
        ids_of(read_texts(layout, (0,))[:, 0])[users],
        ids_of(np.array(layout.names)[1:])[items],
        values[users, items],
        source=str(source),
        notes=(NOTE,),
    )
