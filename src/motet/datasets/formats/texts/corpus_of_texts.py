"""A corpus of texts that a reader has found in a file or folder, with notes on what counts."""

from __future__ import annotations

from dataclasses import replace

from motet.datasets.files import InputFile
from motet.datasets.formats.format import ReadOptions
from motet.datasets.kinds import Corpus
from motet.datasets.words import (
    VocabularyRule,
    choose_vocabulary,
    corpus_from_words,
    rule_without,
    words_of,
)
from motet.domain.errors import BadInput


def read_corpus(file: InputFile, texts: list[str], options: ReadOptions, *notes: str) -> Corpus:
    """Return the corpus of some texts, with the vocabulary of a rule or a given one.

    With a given vocabulary every text is a document, also without any of its words. Raises
    `BadInput` if no word counts.
    """
    rule, source, vocabulary = VocabularyRule(), str(file), options.only
    if options.stop_words is not None:
        rule = rule_without(options.stop_words.text(), str(options.stop_words))
    documents = [words_of(text, rule) for text in texts]
    if vocabulary:
        given = corpus_from_words(documents, vocabulary, source=source, min_words=0)
        return replace(given, notes=notes)
    chosen = choose_vocabulary(documents, rule)
    if not chosen:
        raise _nothing_counts(file, len(texts), rule)
    corpus = corpus_from_words(documents, chosen, source=source)
    found = len({word for document in documents for word in document})
    counted = f"{len(chosen):,} of {found:,} different words count: those {rule.described}"
    left_out = len(texts) - corpus.document_count
    empty = f"{left_out:,} of {len(texts):,} documents have no word that counts: left out"
    return replace(corpus, notes=(*notes, counted, *([empty] if left_out else [])))


def _nothing_counts(file: InputFile, count: int, rule: VocabularyRule) -> BadInput:
    problem = f"its {count} documents have no word in common"
    if count == 1:
        problem = "holds one document only"
    return file.complaint(problem, f"words count {rule.described}")
