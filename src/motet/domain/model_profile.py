"""What is known of deep-learning models before they run: sizes, skew, cost of a restart.

Tiresias (Gu et al., NSDI 2019): sizes from table 3; a preemption of any of these models cost about
a minute on its testbed (57 to 62 s). `gpu_busy`: a third for VGG16 and VGG19 as the authors of Muri
(Zhao et al., SIGCOMM 2022) measured, taken for VGG11 and AlexNet, too; high for the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_RESTART_S = 60.0
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

PROFILES = (
    ModelProfile("VGG19", 548.1, 39, 392.0, gpu_busy=0.35),
    ModelProfile("VGG16", 527.8, 33, 392.0, gpu_busy=0.35),
    ModelProfile("VGG11", 506.8, 23, 392.0, gpu_busy=0.35),
    ModelProfile("AlexNet", 235.9, 17, 144.0, gpu_busy=0.35),
    ModelProfile("ResNet152", 230.2, 778, 9.0),
    ModelProfile("ResNet101", 170.4, 523, 9.0),
    ModelProfile("ResNet50", 97.7, 268, 9.0),
    ModelProfile("Inception4", 162.9, 599, 5.9),
    ModelProfile("Inception3", 91.0, 397, 7.8),
    ModelProfile("GoogLeNet", 26.7, 117, 3.9),
)
_BY_KEY = {_NOT_ALPHANUMERIC.sub("", each.name.lower()): each for each in PROFILES}


def profile_of(name: str) -> ModelProfile:
    """The profile of a model whatever its spelling ("resnet-50"); UNKNOWN_MODEL for others."""
    return _BY_KEY.get(_NOT_ALPHANUMERIC.sub("", name.lower()), UNKNOWN_MODEL)
