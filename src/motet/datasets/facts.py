"""What a finished run reports about its data, without keeping them in memory."""

from __future__ import annotations

from dataclasses import dataclass

from motet.datasets.kinds import Corpus, Dataset


@dataclass(frozen=True)
class DatasetFacts:
    """`counts`: in words; `sha256`: of the content, '' if it was not asked for; `notes`: of the
    reader; `token_count`: of a corpus.
    """

    source: str
    kind: str
    counts: str
    sha256: str
    notes: tuple[str, ...]
    token_count: int | None

    @classmethod
    def of(cls, dataset: Dataset, with_sha256: bool) -> DatasetFacts:
        """Of a data set. The hash takes about a second per 2 GB."""
        return cls(
            source=dataset.source,
            kind=dataset.kind,
            counts=dataset.describe(),
            sha256=dataset.sha256 if with_sha256 else "",
            notes=dataset.notes,
            token_count=dataset.token_count if isinstance(dataset, Corpus) else None,
        )
