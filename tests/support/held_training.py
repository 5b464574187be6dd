"""MLR that stays in its 21st epoch until a file appears: a test disturbs it there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from motet.apps.mlr import MLR

EPOCHS_BEFORE = 20


def held_file(go: Path) -> Path:
    """The file that tells that a worker is held until `go` is there."""
    return go.with_name(f"{go.name}-awaited")


class Held(MLR):
    def compute(self, batch: Any, model: Any, step: Any) -> Any:
        """As MLR, once the file that HELD_UNTIL names is there; an epoch takes EPOCH_S at least."""
        time.sleep(float(os.environ.get("EPOCH_S", 0)) / step.batch_count)
        if step.epoch >= EPOCHS_BEFORE and not (go := Path(os.environ["HELD_UNTIL"])).exists():
            held_file(go).touch()
            while not go.exists():
                time.sleep(0.02)
        return super().compute(batch, model, step)
