"""Converts texts to a bag-of-words corpus with a filtered vocabulary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from motet.datasets.kinds import Corpus

_WORD = re.compile(r"[^\W\d_]{3,30}")

# The usual closed-class words of English (three letters or more).
_CLOSED_CLASS = """
about above across after afterwards again against all almost alone along already also although
always among and another any anyone anything anyway are aren around away back because been before
behind being below between both but can cannot could couldn did didn does doesn doing don done
down during each either else enough etc even ever every everything except few first for from
further get gets given gives got had has have having hence her here hers him himself his how
however indeed instead into isn its itself just last latter least less let like made make makes
many may maybe mean might more most much must myself neither never next nobody none nor not
nothing now off often once one only onto other others otherwise our ours out over own per perhaps
please put rather really same see seem seems several shall she should shouldn since some somehow
someone something sometimes still such than that the their them themselves then there therefore
these they thing things this those though three through thus together too toward two under until
unless upon use used uses using usually very via want was wasn way ways well were weren what
whatever when whenever where whereas wherever whether which while who whole whose why will with
within without won would wouldn yes yet you your yours
"""
STOP_WORDS = frozenset(_CLOSED_CLASS.split())


@dataclass(frozen=True)
class VocabularyRule:
    """The rule that selects the vocabulary of a collection.

    A word must occur in at least `min_documents` documents and in at most `max_share` of them;
    of those the `max_words` that occur in most documents are kept (ties: alphabetical). `word`
    matches one word in the text: by default three letters or more.
    """

    min_documents: int = 2
    max_share: float = 0.5
    max_words: int = 20_000
    stop_words: frozenset[str] = STOP_WORDS
    stop_words_are: str = "frequent English words"
    word: re.Pattern[str] = _WORD

    @property
    def described(self) -> str:
        """Which words count, as a clause after "words"; of rules with the default `word`."""
        return (
            f"of 3 to 30 letters that occur in {self.min_documents} documents or more and in at "
            f"most {self.max_share:.0%} of them, without {len(self.stop_words):,} "
            f"{self.stop_words_are}; at most {self.max_words:,}"
        )


def rule_without(stop_words: str, source: str) -> VocabularyRule:
    """The default rule with other stop words: a text of words, separated by white space."""
    words = frozenset(stop_words.lower().split())
    return VocabularyRule(stop_words=words, stop_words_are=f"words of {source}")


def choose_vocabulary(documents: Sequence[Sequence[str]], rule: VocabularyRule) -> tuple[str, ...]:
    """Return the words that `rule` keeps, in alphabetical order."""
    spread: Counter[str] = Counter()
    for document in documents:
        spread.update(set(document))
    most = max(rule.max_share * len(documents), rule.min_documents)
    fitting = [
        word
        for word, count in spread.items()
        if rule.min_documents <= count <= most and word not in rule.stop_words
    ]
    fitting.sort(key=lambda word: (-spread[word], word))
    return tuple(sorted(fitting[: rule.max_words]))


def words_of(text: str, rule: VocabularyRule) -> list[str]:
    """Return the words of a text in lower case, stop words included."""
    return [word.lower() for word in rule.word.findall(text)]


def corpus_from_texts(
    texts: Iterable[str], rule: VocabularyRule, *, source: str, min_words: int = 1
) -> Corpus:
    """Count the words that `rule` keeps; leave out texts with fewer than `min_words` of them."""
    documents = [words_of(text, rule) for text in texts]
    vocabulary = choose_vocabulary(documents, rule)
    return corpus_from_words(documents, vocabulary, source=source, min_words=min_words)


def corpus_from_words(
    documents: Sequence[Sequence[str]],
    vocabulary: tuple[str, ...],
    *,
    source: str,
    min_words: int = 1,
) -> Corpus:
    """Count the words of each document; leave out those with fewer than `min_words` of them."""
    number = {word: index for index, word in enumerate(vocabulary)}
    coded = [[number[word] for word in document if word in number] for document in documents]
    kept = [document for document in coded if len(document) >= min_words]
    owner = np.repeat(np.arange(len(kept)), [len(document) for document in kept])
    words = np.array([word for document in kept for word in document], dtype=np.int64)
    return Corpus.from_pairs(
        owner,
        words,
        np.ones(len(words), dtype=np.int64),
        (len(kept), len(vocabulary)),
        source=source,
        vocabulary=vocabulary,
    )
