"""The four models of the seed's table 4.2: tensors, duration of an iteration, load of a server.

Tensors follow from the architectures: VGG19 and BERT-Large as published; AWD-LM as a language
model with three LSTM layers and an embedding of width 1,500, tied to the output, on WikiText-2's
33,278 words; AlexNet in its variant for one GPU. These give the table's sizes to 1 MiB; where the
table counts one tensor more, that has the parameters that are missing.

The seed does not state iterations and CPU times. `iteration_ms`: of a worker of four P100, as in
its testbed. AlexNet: 4 x 512 images at 10,509 images/s, TensorFlow's published benchmark of that
GPU (May 2017). VGG19: 4 x 64 images at the 584 images/s of VGG16 there, times 19.6 / 15.5, the
ratio of their floating-point operations. AWD-LM and BERT: 6 operations per parameter and token at
6.4 TFLOP/s (60 % of a P100), for 80 x 70 and 8 x 128 tokens per GPU; assumed.

`server_load`: share of a server's CPU time that the gradients of one worker take, the largest that
agrees with the seed, less 4 % for rounding. From its figure 4.9 and table 4.4, where each job has
as many servers as workers: two AlexNet jobs of 2 need 3 Aggregators and two of 4 need 5, so at most
0.625; four VGG19 jobs of 2 need 2, so at most 0.25; two AWD-LM or BERT jobs of 4 need 4, so at most
0.5. Figure 4.2 states 16 % for VGG19 with two workers, a third of the load assumed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from motet.domain.model_profile import model_key

_PARAMETER_BYTES = 4


@dataclass(frozen=True)
class AggregatedModel:
    """`tensors`: parameters of each tensor."""

    name: str
    tensors: tuple[int, ...]
    iteration_ms: float
    server_load: float

    @property
    def size_bytes(self) -> int:
        """Bytes of all parameters, and of a worker's gradients."""
        return _PARAMETER_BYTES * sum(self.tensors)


def _dense(inputs: int, outputs: int) -> tuple[int, int]:
    return inputs * outputs, outputs


def _alexnet() -> Iterator[int]:
    for kernel, inputs, outputs in ((11, 3, 64), (5, 64, 192), (3, 192, 384), (3, 384, 256)):
        yield from _dense(kernel * kernel * inputs, outputs)
    yield from _dense(9 * 256, 256)
    yield from (*_dense(6 * 6 * 256, 4096), *_dense(4096, 4096), *_dense(4096, 1000))


def _vgg19() -> Iterator[int]:
    inputs = 3
    for layers, outputs in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(layers):
            yield from _dense(9 * inputs, outputs)
            inputs = outputs
    yield from (*_dense(7 * 7 * 512, 4096), *_dense(4096, 4096), *_dense(4096, 1000))


def _awd_lm() -> Iterator[int]:
    words, width = 33_278, 1500
    yield words * width
    for _ in range(3):
        yield from (*_dense(width, 4 * width), *_dense(width, 4 * width))
    yield words


def _bert_large() -> Iterator[int]:
    width = 1024
    yield from (30_522 * width, 512 * width, 2 * width, width, width)
    for _ in range(24):
        for _ in range(4):
            yield from _dense(width, width)
        yield from (*_dense(width, 4 * width), *_dense(4 * width, width))
        yield from (width, width, width, width)
    yield from (*_dense(width, width), *_dense(width, 2))


def _with_rest(sizes: Iterator[int], count: int, mebibytes: int) -> tuple[int, ...]:
    """With a tensor for the rest of the table's size where the table counts one more."""
    known = tuple(sizes)
    rest = mebibytes * 2**20 // _PARAMETER_BYTES - sum(known)
    return (*known, *[max(rest, 1)] * (count - len(known)))


MODELS = (
    AggregatedModel("AlexNet", _with_rest(_alexnet(), 17, 236), 194.9, 0.6),
    AggregatedModel("VGG19", _with_rest(_vgg19(), 39, 548), 554.3, 0.24),
    AggregatedModel("AWD-LM", _with_rest(_awd_lm(), 14, 396), 545.9, 0.48),
    AggregatedModel("BERT", _with_rest(_bert_large(), 393, 1278), 321.7, 0.48),
)
"""The models of table 4.2, which jobs have with equal probability."""


def known_model(name: str) -> int | None:
    """Position in MODELS, whatever the spelling; None: another model."""
    keys = [model_key(model.name) for model in MODELS]
    return keys.index(model_key(name)) if model_key(name) in keys else None
