"""Notes about what policies decide by: what the log lacks, and run times that they get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motet.report.cluster_run.run_label import Document

MISSING_MARK = "*"


def lacks_needed_inputs(document: Document) -> bool:
    """Whether no job of the run has an input that its policy needs."""
    return bool(_total(document))


def missing_input_notes(documents: Sequence[Document]) -> list[str]:
    """A line per marked policy, a line for all that decide by an input which some jobs lack, and
    one for those that get run times.
    """
    notes: dict[str, None] = {}
    partly: dict[str, list[str]] = {}
    for document in documents:
        policy = str(document["policy"])
        if total := _total(document):
            parts = [f"no {each['input']} in the log: {each['effect']}" for each in total]
            notes[f"{MISSING_MARK} {policy}: {'; '.join(parts)}."] = None
        for each in document.get("missing_inputs") or ():
            if each["jobs"] < each["of"]:
                what = f"{each['jobs']:,} of {each['of']:,} jobs lack {each['input']}"
                users = partly.setdefault(f"{what}: {each['effect']}.", [])
                users += [policy] * (policy not in users)
    notes |= {f"{', '.join(users)}: {what}": None for what, users in partly.items()}
    oracles = {str(each["policy"]): None for each in documents if each.get("knows_durations")}
    if oracles:
        notes[f"{', '.join(oracles)}: told the run times in advance, as in no real cluster."] = None
    return list(notes)


def _total(document: Document) -> list[dict[str, Any]]:
    return [each for each in _needed(document) if each["jobs"] == each["of"]]


def _needed(document: Document) -> list[dict[str, Any]]:
    found = document.get("missing_inputs")
    return [each for each in found or () if each["is_needed"]]
