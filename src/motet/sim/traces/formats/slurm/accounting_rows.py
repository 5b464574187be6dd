"""Rows of `sacct --parsable` and `--parsable2`: delimiter, header, steps, repeated headers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Cells, Table, check_named_columns

ID_FIELDS = ("jobid", "jobidraw")
_MARKS = frozenset(
    ("submit", "start", "end", "elapsed", "elapsedraw", "eligible", "alloctres", "reqtres")
)
"""Fields of sacct, besides the id, of which a dump of jobs has at least one."""

_USUAL = frozenset(("jobname", "alloccpus", "exitcode"))
"""Fields that sacct prints without --format; its reader names those that are missing."""

_FIELD = re.compile(r" *\w+ *")
_RULER = re.compile(r"-+(?: +-+)+\s*")
_DELIMITERS = ("|", "\t", ";", ",", "^", "~", "@", "#", "!")


@dataclass(frozen=True)
class Accounting:
    """Rows of jobs, without those of their steps. `columns`: of the user, by Motet's names."""

    table: Table
    columns: Mapping[str, str]

    @classmethod
    def read(cls, source: Source, problems: Problems) -> Accounting:
        """Read all rows. Raises BadInput for a truncated table and for unknown columns."""
        if _is_for_people(source):
            problem = "this table of sacct has truncated cells"
            raise source.complaint(problem, "add --parsable2 (-P) to the command of sacct", 1)
        header, delimiter = _split_header(source)
        check_named_columns(source, header)
        columns = {name: column.lower() for name, column in source.options.columns.items()}
        hint = f" (a name with {delimiter!r} in it? leave JobName out, or use --delimiter)"
        return cls(Table.of_records(header, _job_rows(source), problems, hint), columns)

    def first_known(self, name: str, fields: Sequence[str]) -> Cells | None:
        """For every row the first cell with a value among these fields; None without any of them.

        `name`: Motet's name of the column, for which the user may have stated another field.
        """
        chosen = (self.columns[name],) if name in self.columns else fields
        found = [self.table.columns[field] for field in chosen if field in self.table.columns]
        if len(found) < 2:
            return found[0] if found else None
        return [next(filter(str.strip, cells), "") for cells in zip(*found, strict=True)]


def is_accounting(source: Source) -> bool:
    """Whether the first line is a header of sacct."""
    if _is_for_people(source):
        return True
    names = set(_split_header(source)[0])
    return bool(names & set(ID_FIELDS)) and (bool(names & _MARKS) or names >= _USUAL)


def _is_for_people(source: Source) -> bool:
    """Whether this is the output of sacct without --parsable: columns of fixed widths."""
    first, *others = source.head
    return first.lower().split()[:1] == ["jobid"] and bool(
        others and _RULER.fullmatch(others[0].strip())
    )


def _split_header(source: Source) -> tuple[tuple[str, ...], str]:
    """The names in lower case, and the delimiter: the character after the first name."""
    line = source.head[0]
    first = _FIELD.match(line.replace('"', " "))
    after = line[first.end() : first.end() + 1] if first else ""
    delimiter = after if after in _DELIMITERS and after else "|"
    names = [name.strip().strip('"').lower() for name in line.split(delimiter)]
    return tuple(names[:-1] if names[-1] == "" else names), delimiter


def _job_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Every row of a job with its line; rows of steps and repeated headers are left out."""
    header, delimiter = _split_header(source)
    place = next((header.index(field) for field in ID_FIELDS if field in header), 0)
    is_header = True
    for line, cells in _lines(source, delimiter):
        if len(cells) == len(header) + 1 and not cells[-1].strip():
            cells.pop()  # --parsable ends every line with a delimiter.
        job_id = cells[place] if place < len(cells) else ""
        if is_header or job_id.strip().lower() == header[place]:
            is_header = False
        elif "." not in job_id.partition("[")[0]:  # A cut list of an array ends with dots.
            yield line, cells


def _lines(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of every line that is not blank. sacct quotes nothing; a CSV may be quoted."""
    if delimiter != ",":
        for number, line in enumerate(source.text.split("\n"), start=1):
            if line.strip():
                yield number, line.removesuffix("\r").split(delimiter)
        return
    reader, begins = csv.reader(io.StringIO(source.text, newline="")), 1
    try:
        for cells in reader:
            if any(cells):
                yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        problem, remedy = f"cannot be read as CSV ({error})", "check the quotes"
        raise source.complaint(problem, remedy, begins) from None
