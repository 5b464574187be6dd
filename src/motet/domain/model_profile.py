"""Static profiles of deep-learning models: sizes, skew, cost of a restart.

Sizes are from table 3 of Tiresias (Gu et al., NSDI 2019). The average cost of a preemption in a run
of its scheduler was 57 to 62 s (section 5.2; the thesis, section 3.5.2.4); the part that depends on
the model is assumed to be one write and one read at the 1.2 GB/s of the testbed's shared file
system. `gpu_busy` is a third for VGG16 and VGG19, as the authors of Muri (Zhao et al., SIGCOMM
2022) measured with 4 to 16 GPUs; the same value is assumed for VGG11 and AlexNet, and a high one
for the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

AVERAGE_RESTART_S = 60.0
FILE_SYSTEM_MB_PER_S = 1200.0
_BATCH_SIZE = re.compile(r"\(batch size \d+\)")
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True)
class ModelProfile:
    """`largest_mb`: the largest tensor; `gpu_busy`: share of an iteration in which the GPU works;
    `restart_s`: checkpoint, stop, start and restore; None: not known.
    """

    name: str
    size_mb: float
    tensor_count: int
    largest_mb: float
    gpu_busy: float = 0.9
    restart_s: float | None = None

    @property
    def skew(self) -> float:
        """Largest tensor / model size, 0 to 1: a measure of uneven load on parameter servers."""
        return self.largest_mb / self.size_mb


UNKNOWN_MODEL = ModelProfile("unknown", 100.0, 200, 9.0)
"""The default for models without a profile: medium size, no skew."""


def _of_table_3(
    name: str, size_mb: float, tensor_count: int, largest_mb: float, gpu_busy: float = 0.9
) -> ModelProfile:
    restart_s = AVERAGE_RESTART_S + 2 * size_mb / FILE_SYSTEM_MB_PER_S
    return ModelProfile(name, size_mb, tensor_count, largest_mb, gpu_busy, restart_s)


PROFILES = (
    _of_table_3("VGG19", 548.1, 39, 392.0, gpu_busy=0.35),
    _of_table_3("VGG16", 527.8, 33, 392.0, gpu_busy=0.35),
    _of_table_3("VGG11", 506.8, 23, 392.0, gpu_busy=0.35),
    _of_table_3("AlexNet", 235.9, 17, 144.0, gpu_busy=0.35),
    _of_table_3("ResNet152", 230.2, 778, 9.0),
    _of_table_3("ResNet101", 170.4, 523, 9.0),
    _of_table_3("ResNet50", 97.7, 268, 9.0),
    _of_table_3("Inception4", 162.9, 599, 5.9),
    _of_table_3("Inception3", 91.0, 397, 7.8),
    _of_table_3("GoogLeNet", 26.7, 117, 3.9),
)


SKEW_CLASSES = 100
SKEW_PROFILES = tuple(
    ModelProfile(f"skew {part / SKEW_CLASSES:.2f}", 100.0, 200, 100.0 * part / SKEW_CLASSES)
    for part in range(SKEW_CLASSES + 1)
)
"""Models of which nothing but the skew is known, by its hundredths."""


@dataclass(frozen=True, slots=True)
class ModelMeasured:
    """An event: the sizes of the model that a job trains are known. In bytes."""

    job: int
    model_bytes: int
    largest_bytes: int

    @property
    def skew_class(self) -> int:
        """The place of its skew in SKEW_PROFILES, rounded."""
        part = SKEW_CLASSES * self.largest_bytes / max(self.model_bytes, 1)
        return round(min(part, SKEW_CLASSES))


def model_key(name: str) -> str:
    """A key independent of spelling and batch size: "ResNet-50 (batch size 64)" -> "resnet50"."""
    return _NOT_ALPHANUMERIC.sub("", _BATCH_SIZE.sub("", name.lower()))


_BY_KEY = {model_key(each.name): each for each in PROFILES}


def profile_of(name: str) -> ModelProfile:
    """The profile of a model in any spelling ("resnet-50"); UNKNOWN_MODEL for others."""
    return _BY_KEY.get(model_key(name), UNKNOWN_MODEL)
