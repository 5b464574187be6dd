"""What a check has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

CheckVerdict: TypeAlias = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found; `message` says what to do unless the verdict is "ok"."""

    subject: str
    verdict: CheckVerdict
    message: str
