"""Tensor sizes of Optimus' nine models, from their architectures.

Peng et al., EuroSys 2018, table 1, lists models, data sets and numbers of parameters; the programs
are MXNet's examples. Tensors have MXNet's order, as its hash depends on that.

From the programs: ResNet-50 (157 tensors), ResNext-110, Inception-BN and KAGGLE (the first
National Data Science Bowl). From a publication: CNN-rand (Kim, EMNLP 2014, on movie reviews) and
RNN-LSTM (MXNet's language model on the Penn Treebank: two layers of 200). Assumed, such that
numbers of parameters are about the paper's: DSSM (widths 300, 300, 128 after Huang et al., CIKM
2013), Seq2Seq (one layer of 256 each, attention, 10,000 words), DeepSpeech2 (two convolutions, five
bidirectional layers of 768 gated units).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from motet.domain.model_profile import model_key

Sizes = Iterator[int]


def tensor_sizes(model: str) -> tuple[int, ...] | None:
    """Parameters of each tensor; None: unknown model. Ignores the spelling of names."""
    return _sizes_of(model_key(model))


@cache
def _sizes_of(key: str) -> tuple[int, ...] | None:
    makers = {model_key(name): sizes for name, sizes in _ARCHITECTURES.items()}
    return tuple(makers[key]()) if key in makers else None


def _resnet_50() -> Sizes:
    """Pre-activation bottlenecks (He et al., ECCV 2016), on 1,000 classes."""
    yield from (3, 3, 7 * 7 * 3 * 64, 64, 64)
    inputs = 64
    for units, outputs in ((3, 256), (4, 512), (6, 1024), (3, 2048)):
        for unit in range(units):
            inner = outputs // 4
            yield from (inputs, inputs, inputs * inner)
            yield from (inner, inner, 9 * inner * inner)
            yield from (inner, inner, inner * outputs)
            if unit == 0:
                yield inputs * outputs
            inputs = outputs
    yield from (2048, 2048, *_dense(2048, 1000))


def _resnext_110() -> Sizes:
    """18 units of two convolutions in each of three stages, on CIFAR-10; MXNet's program uses
    groups only in bottlenecks, which require more layers.
    """
    yield from (3, 3, 9 * 3 * 16)
    inputs = 16
    for outputs in (16, 32, 64):
        for unit in range(18):
            yield from (9 * inputs * outputs, outputs, outputs)
            yield from (9 * outputs * outputs, outputs, outputs)
            if unit == 0:
                yield from (inputs * outputs, outputs, outputs)
            inputs = outputs
    yield from _dense(64, 10)


def _inception_bn() -> Sizes:
    """Ioffe and Szegedy, ICML 2015, on 1,000 classes."""
    yield from (*_normalised(7, 3, 64), *_normalised(1, 64, 64), *_normalised(3, 64, 192))
    inputs = 192
    for whole, reduced, outputs, twice_reduced, twice, pooled in (
        (64, 64, 64, 64, 96, 32),
        (64, 64, 96, 64, 96, 64),
        (0, 128, 160, 64, 96, 0),
        (224, 64, 96, 96, 128, 128),
        (192, 96, 128, 96, 128, 128),
        (160, 128, 160, 128, 160, 128),
        (96, 128, 192, 160, 192, 128),
        (0, 128, 192, 192, 256, 0),
        (352, 192, 320, 160, 224, 128),
        (352, 192, 320, 192, 224, 128),
    ):
        yield from _normalised(1, inputs, whole)
        yield from (*_normalised(1, inputs, reduced), *_normalised(3, reduced, outputs))
        yield from (*_normalised(1, inputs, twice_reduced), *_normalised(3, twice_reduced, twice))
        yield from (*_normalised(3, twice, twice), *_normalised(1, inputs, pooled))
        inputs = whole + outputs + twice + (pooled or inputs)
    yield from _dense(inputs, 1000)


def _kaggle() -> Sizes:
    """Seven convolutions on images of 48 x 48 pixels, reduced to 3 x 3; 121 classes."""
    channels = 3
    for kernel, outputs in ((5, 32), (5, 64), (3, 64), (3, 64), (3, 128), (3, 256), (3, 256)):
        yield from _dense(kernel * kernel * channels, outputs)
        channels = outputs
    yield from _dense(3 * 3 * channels, 121)


def _cnn_rand() -> Sizes:
    """18,765 words of 300 numbers, 100 filters over 3, 4 and 5 words, two classes."""
    yield 18_765 * 300
    for words in (3, 4, 5):
        yield from _dense(words * 300, 100)
    yield from _dense(300, 2)


def _dssm() -> Sizes:
    for inputs, outputs in ((4_560, 300), (300, 300), (300, 128)):
        yield from _dense(inputs, outputs)


def _rnn_lstm() -> Sizes:
    yield 10_000 * 200
    yield from (*_recurrent(4, 200, 200), *_recurrent(4, 200, 200))
    yield from _dense(200, 10_000)


def _seq2seq() -> Sizes:
    yield from (10_000 * 256, *_recurrent(4, 256, 256))
    yield from (10_000 * 256, *_recurrent(4, 2 * 256, 256))
    yield from (256 * 256, *_dense(2 * 256, 256))
    yield from _dense(256, 10_000)


def _deepspeech2() -> Sizes:
    yield from (*_normalised(1, 41 * 11, 32), *_normalised(1, 21 * 11 * 32, 32))
    inputs = 41 * 32
    for _ in range(5):
        yield from (*_recurrent(3, inputs, 768), *_recurrent(3, inputs, 768))
        inputs = 768
    yield from _dense(768, 29)


def _dense(inputs: int, outputs: int) -> Sizes:
    yield from (inputs * outputs, outputs)


def _normalised(kernel: int, inputs: int, outputs: int) -> Sizes:
    """A convolution with batch normalisation; none without outputs."""
    if outputs:
        yield from (kernel * kernel * inputs * outputs, outputs, outputs, outputs)


def _recurrent(gates: int, inputs: int, width: int) -> Sizes:
    """Weights of all gates, for the input and for the previous state."""
    rows = gates * width
    yield from (rows * inputs, rows, rows * width, rows)


_ARCHITECTURES: dict[str, Callable[[], Sizes]] = {
    "ResNext-110": _resnext_110,
    "ResNet-50": _resnet_50,
    "Inception-BN": _inception_bn,
    "KAGGLE": _kaggle,
    "CNN-rand": _cnn_rand,
    "DSSM": _dssm,
    "RNN-LSTM": _rnn_lstm,
    "Seq2Seq": _seq2seq,
    "DeepSpeech2": _deepspeech2,
}
