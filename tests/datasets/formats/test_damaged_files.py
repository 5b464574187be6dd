"""Whatever happened to a file, opening it ends in data or in one line that explains."""

from __future__ import annotations

import gzip

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from data_samples import SAMPLES
from example_count import examples
from motet.datasets import open_dataset
from motet.domain.errors import BadInput

NAMES = ["a", "a.svm", "u.data", "docword.a.txt", "a.ldac", "a.npz", "a-idx3", "a.csv", "a.txt"]
SCRAPS = [
    *(b"", b"nan", b"-inf", b"-1", b"0", b"1.5", b"1e400", b"9" * 25, b"abc", b"?", b"'", b'"'),
    *(b":", b"::", b",", b"\t", b" ", b"\n", b"\n\n", b"\r", b"#", b"%", b"\0", b"\xff"),
]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([0, 1, 3, 50, 10**6]), st.sampled_from(SCRAPS)),
    max_size=4,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["labelled", "unlabelled", "ratings", "corpus"]),
        "format": st.sampled_from(["svmlight", "ratings", "docword", "ldac", "npz", "npy", "csv"]),
        "target": st.sampled_from(["-1", "0", "a", "zz"]),
        "drop": st.sampled_from(["missing", "0-1", "1-9"]),
        "na": st.sampled_from(["?", "abc"]),
    },
)


def edited(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for place, length, scrap in edits:
        start = int(place * len(content))
        content = content[:start] + scrap + content[start + length :]
    return content


@settings(max_examples=examples(250))
@given(
    sample=st.sampled_from(sorted(SAMPLES)),
    edits=EDITS,
    name=st.sampled_from(NAMES),
    options=OPTIONS,
    packed_loss=st.sampled_from([None, None, None, 0, 9, 40]),
)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    sample, edits, name, options, packed_loss, tmp_path_factory
):
    content = edited(SAMPLES[sample][1], edits)
    if packed_loss is not None:
        packed = gzip.compress(content)
        content = packed[: len(packed) - packed_loss]
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(content)
    try:
        dataset = open_dataset(path, **options)
    except BadInput as error:
        message = str(error)
        assert "\n" not in message
        assert len(message) < 800
        return
    numbers = [array for array in dataset.arrays() if array.dtype.kind != "U"]
    assert all(np.isfinite(array).all() for array in numbers)
