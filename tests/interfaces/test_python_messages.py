"""Messages name Python arguments instead of options of the command line."""

from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.python_messages import python_arguments, python_message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--workers 0: must be at least 1", "workers=0: must be at least 1"),
        ("lower --workers or raise --machines", "lower workers or raise machines"),
        ("--cluster a/b.csv: cannot be read", "cluster='a/b.csv': cannot be read"),
        ("--until 'x': write loss=NUMBER", "until='x': write loss=NUMBER"),
        ("raise --epochs to train on", "raise epochs to train on"),
        ("go on with --resume", "go on with resume=True"),
        ("lower it (--set learning_rate=...)", "lower it (learning_rate=...)"),
        ("make the model smaller (--set), ...", "make the model smaller (its parameters), ..."),
        ("(--target price), or", "(target='price'), or"),
        ("give --format npy", "give format='npy'"),
        ("'motet simulate --out DIR' makes one", "'motet simulate --out DIR' makes one"),
        (
            "--address h:1: failed; start one with 'ray start --head', or leave --address out",
            "address='h:1': failed; start one with 'ray start --head', or leave address out",
        ),
        ("lower --machine-events", "lower machine_events"),
        ("x.csv: --na does not apply to npz data", "x.csv: na does not apply to npz data"),
        ("a - b, -- and 5 --", "a - b, -- and 5 --"),
        (
            "name them with --columns user=NAME,item=NAME, or rename columns",
            "name them with columns={'user': 'NAME', 'item': 'NAME'}, or rename columns",
        ),
        (
            "give --columns 'job_id=Job Id,num_gpus=GPUs' (or another --format)",
            "give load_trace(..., columns={'job_id': 'Job Id', 'num_gpus': 'GPUs'}) "
            "(or another format)",
        ),
        ("--columns 'a,b': no pairs", "columns='a,b': no pairs"),
    ],
)
def test_an_option_becomes_an_argument(message: str, expected: str) -> None:
    assert python_message(message) == expected


def test_the_type_of_the_error_and_its_cause_stay() -> None:
    cause = OSError("full")

    @python_arguments
    def fail() -> None:
        raise BadInput("raise --machines") from cause

    with pytest.raises(BadInput, match=r"^raise machines$") as raised:
        fail()
    assert raised.value.__cause__ is cause
