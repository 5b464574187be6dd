"""Notes about policies for which the log lacks what they decide by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motet.report.cluster_run.run_label import Document

MISSING_MARK = "*"


def lacks_needed_inputs(document: Document) -> bool:
    """Whether no job of the run has an input that its policy needs."""
    return bool(_total(document))


def missing_input_notes(documents: Sequence[Document]) -> list[str]:
    """A line per marked policy, and a line for all whose needed inputs some jobs lack."""
    notes: dict[str, None] = {}
    partly: dict[str, list[str]] = {}
    for document in documents:
        policy = str(document["policy"])
        if total := _total(document):
            parts = [f"no {each['input']} in the log: {each['effect']}" for each in total]
            notes[f"{MISSING_MARK} {policy}: {'; '.join(parts)}."] = None
        for each in _needed(document):
            if each["jobs"] < each["of"]:
                what = f"{each['jobs']:,} of {each['of']:,} jobs lack {each['input']}"
                users = partly.setdefault(f"{what}: {each['effect']}.", [])
                users += [policy] * (policy not in users)
    return [*notes, *(f"{', '.join(users)}: {what}" for what, users in partly.items())]


def _total(document: Document) -> list[dict[str, Any]]:
    return [each for each in _needed(document) if each["jobs"] == each["of"]]


def _needed(document: Document) -> list[dict[str, Any]]:
    found = document.get("missing_inputs")
    return [each for each in found or () if each["is_needed"]]
