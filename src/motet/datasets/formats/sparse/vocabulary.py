"""Word lists for files of word numbers."""

from __future__ import annotations

from motet.datasets.files import InputFile


def read_vocabulary(
    corpus: InputFile, names: tuple[str, ...], least_words: int, most_words: int | None = None
) -> tuple[str, ...] | None:
    """Read the first file of these names in the corpus's folder, one word per line.

    Returns None if there is none. Raises `BadInput` if it has too few or too many words.
    """
    found = next(filter(None, map(corpus.in_same_folder, names)), None)
    if found is None:
        return None
    words = tuple(line.strip() for _, line in found.lines() if line.strip())
    if len(words) < least_words or (most_words is not None and len(words) > most_words):
        problem = f"lists {len(words):,} words, {corpus.path.name} needs {least_words:,}"
        raise found.complaint(problem, "one word per line; or move the file elsewhere")
    return words
