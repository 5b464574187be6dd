"""MLR that takes ever more memory in its second epoch, once a file appears."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from motet.apps.mlr import MLR


class Greedy(MLR):
    def compute(self, batch: Any, model: Any, step: Any) -> Any:
        """As MLR; in the file that GREEDY names is the process that takes memory."""
        told = Path(os.environ["GREEDY"])
        if step.epoch and not told.exists():
            part = told.with_suffix(".part")
            part.write_text(str(os.getpid()))
            part.rename(told)
            kept = []
            while True:
                kept.append(b"x" * (1 << 20))
        return super().compute(batch, model, step)
