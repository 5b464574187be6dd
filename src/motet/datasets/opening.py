"""`open_dataset`: loads data by path or name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from motet.datasets.builtin import catalogue
from motet.datasets.files import InputFile
from motet.datasets.formats.foreign import refuse_foreign
from motet.datasets.formats.format import Format, ReadOptions
from motet.datasets.formats.recognition import format_called, recognise
from motet.datasets.kinds import Dataset, LabelledMatrix, Ratings
from motet.datasets.kinds.base import SplitRole
from motet.datasets.kinds.matrix import lack_of_target
from motet.datasets.needs import kind_needed, require, require_kind
from motet.datasets.rating_frames import RatingColumns
from motet.domain.errors import BadInput

Words = str | Iterable[str] | None
PathOrName = str | os.PathLike[str]


def open_dataset(
    path_or_name: PathOrName,
    *,
    kind: str | None = None,
    format: str | None = None,
    target: str | int | None = None,
    drop: Words = None,
    na: Words = None,
    exclude: PathOrName | None = None,
    labels: PathOrName | None = None,
    only: Words = None,
    columns: str | Mapping[str, str | int] | Iterable[str] | None = None,
    stop_words: PathOrName | None = None,
    role: SplitRole = "train",
) -> Dataset:
    """Read a file (or a folder of texts), or load a bundled or generated data set by its name.

    `kind`: the kind of data needed, as in `Application.dataset_kind`: "labelled", "unlabelled",
    "ratings" or "corpus"; it decides if a file can be read in several ways. `format`: the
    name of a file format, recognised otherwise. `target`, `drop`, `na`: for tables, a column's
    name or index (negative from the end), columns to leave out ("0-4,missing"), and texts for
    a missing value. `exclude`: ratings in this file are left out. `labels`: the labels of idx
    images that are in another folder. `only`: the features to read of a table with a header,
    which must name them; `("user", "item")` of a rating file: no ratings; of texts the words that
    count. `columns`: those of a rating file that its header names otherwise, as
    "user=reviewerID,item=asin,rating=overall" or a mapping. `stop_words`: a file of words of texts
    that do not count, instead of frequent English ones. `role`: generators draw other data for
    "test".

    A name takes precedence over a file of the same name; `./digits` is the file. Raises `BadInput`
    with one line: the file and line, the problem and its remedy.
    """
    source = os.fspath(path_or_name)
    options = ReadOptions(
        kind=kind_needed(kind),
        target=None if target is None else str(target),
        drop=_words(drop),
        na=_words(na),
        labels=None if labels is None else InputFile(Path(labels)),
        only=_words(only),
        columns=RatingColumns.of(columns),
        stop_words=None if stop_words is None else InputFile(Path(stop_words)),
    )
    try:
        dataset = _load(source, format, options, kind, role)
    except MemoryError:
        raise BadInput(f"{source}: does not fit into memory; give less data") from None
    if exclude is not None:
        held_out = open_dataset(exclude, kind="ratings", format=format, columns=columns)
        dataset = _without(dataset, held_out, os.fspath(exclude))
    return require(dataset, kind)


def check_dataset(
    path_or_name: PathOrName,
    *,
    kind: str,
    format: str | None = None,
    target: str | int | None = None,
    drop: Words = None,
    columns: Mapping[str, str | int] | None = None,
    stop_words: PathOrName | None = None,
) -> None:
    """Refuse what `open_dataset` would refuse by the name, the format and the header alone.

    The arguments are those of `open_dataset`. Raises `BadInput`.
    """
    source = os.fspath(path_or_name)
    named = None if target is None else str(target)
    options = ReadOptions(
        kind=kind_needed(kind),
        target=named,
        drop=_words(drop),
        columns=RatingColumns.of(columns),
        stop_words=None if stop_words is None else InputFile(Path(stop_words)),
    )
    if catalogue.is_known(source):
        _refuse_other_kind(source, options, kind)
        return
    file, chosen = _file_and_format(source, format, options)
    if not file.path.is_dir():
        chosen.check(file, options)
    needs_name = chosen.has_columns and not chosen.holds_target
    if kind == "labelled" and named is None and needs_name:
        raise lack_of_target(source, LabelledMatrix.target_remedy)


def _load(
    source: str, format_name: str | None, options: ReadOptions, need: str | None, role: SplitRole
) -> Dataset:
    if catalogue.is_known(source):
        _refuse_other_kind(source, options, need)
        return catalogue.load(source, role)
    file, chosen = _file_and_format(source, format_name, options)
    return chosen.read(file, options)


def _refuse_other_kind(source: str, options: ReadOptions, need: str | None) -> None:
    """Raises BadInput for a built-in data set of another kind, or with options of files."""
    require_kind(source, catalogue.kind_of(source), need)
    name = source.partition(":")[0]
    _refuse_meaningless(source, name, options, False, False)
    if options.columns.names:
        raise _meaningless(source, "--columns", name)
    if options.stop_words is not None:
        raise _meaningless(source, "--stop-words", name)


def _file_and_format(
    source: str, format_name: str | None, options: ReadOptions
) -> tuple[InputFile, Format]:
    file = InputFile(Path(source))
    if not source or not file.path.exists():
        raise _missing(source)
    if not file.path.is_dir():
        file.refuse_bomb()
        refuse_foreign(file)
    chosen = _format(file, format_name, options.kind, bool(options.columns.names))
    _refuse_meaningless(source, chosen.name, options, chosen.has_columns, chosen.has_labels)
    if options.columns.names and not chosen.has_ratings:
        raise _meaningless(source, "--columns", chosen.name)
    if options.stop_words is not None and not chosen.has_words:
        raise _meaningless(source, "--stop-words", chosen.name)
    return file, chosen


def _refuse_meaningless(
    source: str, name: str, options: ReadOptions, has_columns: bool, has_labels: bool
) -> None:
    """Refuse options that the format would ignore. Raises `BadInput`."""
    columns = {"--target": options.target, "--drop": options.drop, "--na": options.na}
    meaningless = [] if has_columns else [flag for flag, given in columns.items() if given]
    if options.labels is not None and not has_labels:
        meaningless.append("--labels")
    for flag in meaningless:
        raise _meaningless(source, flag, name)


def _meaningless(source: str, flag: str, name: str) -> BadInput:
    return BadInput(f"{source}: {flag} does not apply to {name} data; leave it out")


def _format(
    file: InputFile, name: str | None, kind: type[Dataset] | None, has_ratings: bool
) -> Format:
    if name is None and has_ratings and kind is Ratings:
        return format_called("ratings")
    if name is None:
        return recognise(file, kind)
    chosen = format_called(name)
    if kind is not None and not chosen.can_become(kind):
        problem = f"--format {name} is {chosen.kinds[0].described}, not {kind.described}"
        raise file.complaint(problem, "give data for this application")
    return chosen


def _missing(source: str) -> BadInput:
    if Path(source).name != source or Path(source).suffix:
        return BadInput(f"{source}: no such file; check the path")
    known = catalogue.dataset_names()
    close = get_close_matches(source.partition(":")[0], known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"names known: {', '.join(known)}"
    return BadInput(f"{source or repr('')}: neither a file nor a bundled data set; {hint}")


def _without(dataset: Dataset, other: Dataset, held_out: str) -> Dataset:
    if not isinstance(dataset, Ratings) or not isinstance(other, Ratings):
        problem = f"--exclude {held_out}: {dataset.source} holds {dataset.described}"
        raise BadInput(f"{problem}; only ratings can be excluded")
    rest = dataset.without(other)
    if not rest.rating_count:
        raise BadInput(f"--exclude {held_out}: no rating of {dataset.source} is left; exclude less")
    return rest


def _words(given: Words) -> tuple[str, ...]:
    """Return one text or several as a tuple, without empty ones of several."""
    texts = (given,) if isinstance(given, str) else tuple(given or ())
    return tuple(text for text in texts if text)
