"""What is known of deep-learning models before they run: sizes, skew, cost of a restart.

Tiresias (Gu et al., NSDI 2019): sizes from table 3. A preemption cost 57 to 62 s there on average
over a scheduler's run (section 5.2; the thesis, section 3.5.2.4); a model's own part is taken to be
writing it once and reading it once at the 1.2 GB/s of the testbed's shared file system. `gpu_busy`:
a third for VGG16 and VGG19 as the authors of Muri (Zhao et al., SIGCOMM 2022) measured with 4 to 16
GPUs, taken for VGG11 and AlexNet, too; high for the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_RESTART_S = 60.0
FILE_SYSTEM_MB_PER_S = 1200.0
_BATCH_SIZE = re.compile(r"\(batch size \d+\)")
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True)
class ModelProfile:
    """`largest_mb`: the largest tensor; `gpu_busy`: share of an iteration in which the GPU works;
    `restart_s`: checkpoint, stop, start and restore.
    """

    name: str
    size_mb: float
    tensor_count: int
    largest_mb: float
    gpu_busy: float = 0.9
    restart_s: float = DEFAULT_RESTART_S

    @property
    def skew(self) -> float:
        """Largest tensor / model size: how uneven the load of parameter servers will be, 0 to 1."""
        return self.largest_mb / self.size_mb


UNKNOWN_MODEL = ModelProfile("unknown", 100.0, 200, 9.0)
"""Stands for a model without a profile: of a usual size, not skewed."""


def _of_table_3(
    name: str, size_mb: float, tensor_count: int, largest_mb: float, gpu_busy: float = 0.9
) -> ModelProfile:
    restart_s = DEFAULT_RESTART_S + 2 * size_mb / FILE_SYSTEM_MB_PER_S
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


def model_key(name: str) -> str:
    """The same for all spellings and batch sizes: "ResNet-50 (batch size 64)" -> "resnet50"."""
    return _NOT_ALPHANUMERIC.sub("", _BATCH_SIZE.sub("", name.lower()))


_BY_KEY = {model_key(each.name): each for each in PROFILES}


def profile_of(name: str) -> ModelProfile:
    """The profile of a model whatever its spelling ("resnet-50"); UNKNOWN_MODEL for others."""
    return _BY_KEY.get(model_key(name), UNKNOWN_MODEL)
