"""Failures by exit status and log: the classes, and lines that must not mislead."""

from __future__ import annotations

import pytest

from motet.live.jobs.failure_class import Failure, FailureClass, classify

TRACEBACK = (
    'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    {}\n{}\n'
)
KIND = FailureClass


@pytest.mark.parametrize(
    ("code", "signal", "log", "kind"),
    [
        (
            1,
            None,
            'File "a.py", line 1\n    def\n       ^\nSyntaxError: invalid',
            KIND.SYNTAX_ERROR,
        ),
        (2, None, "sh: 3: Syntax error: end of file unexpected", KIND.SYNTAX_ERROR),
        (1, None, "IndentationError: unexpected indent", KIND.SYNTAX_ERROR),
        (1, None, "ModuleNotFoundError: No module named 'torch'", KIND.IMPORT_ERROR),
        (1, None, "FileNotFoundError: [Errno 2] No such file or directory: 'x'", KIND.MISSING_FILE),
        (2, None, "python: can't open file '/a/train.py': [Errno 2] No such", KIND.MISSING_FILE),
        (1, None, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried", KIND.OUT_OF_MEMORY),
        (1, None, "numpy._core._exceptions._ArrayMemoryError: Unable to", KIND.OUT_OF_MEMORY),
        (None, 6, "terminate called\n  what():  std::bad_alloc", KIND.OUT_OF_MEMORY),
        (1, None, "ValueError: loss is NaN in epoch 3", KIND.NAN_LOSS),
        (1, None, "epoch 4: non-finite loss", KIND.NAN_LOSS),
        (1, None, "AssertionError: val_loss is nan", KIND.NAN_LOSS),
        (1, None, "Epoch 1: val_loss improved from inf to 0.62, saving model", KIND.OTHER),
        (1, None, "RuntimeError: Function 'MulBackward0' returned nan values", KIND.NAN_LOSS),
        (1, None, "ConnectionRefusedError: [Errno 111] Connection refused", KIND.NETWORK),
        (1, None, "[rank1]: torch.distributed.DistNetworkError: Connection reset", KIND.NETWORK),
        (1, None, "curl: (7) Failed: Connection timed out", KIND.NETWORK),
        (127, None, "sh: 1: trian: not found", KIND.MISSING_COMMAND),
        (127, None, "motet: trian: No such file or directory", KIND.MISSING_COMMAND),
        (1, None, "motet: workdir /nowhere: No such file or directory", KIND.MISSING_FILE),
        (None, 9, "epoch 3", KIND.KILLED),
        (137, None, "", KIND.KILLED),
        (3, None, "", KIND.OTHER),
        (1, None, "ValueError: bad shape", KIND.OTHER),
    ],
)
def test_classes(code: int | None, signal: int | None, log: str, kind: FailureClass) -> None:
    assert classify(code, signal, log).kind is kind


def test_only_the_last_error_decides() -> None:
    """A fallback for a missing module is normal; the error behind it counts."""
    log = TRACEBACK.format("import apex", "ModuleNotFoundError: No module named 'apex'")
    log += "\nDuring handling of the above exception, another exception occurred:\n\n"
    log += TRACEBACK.format("main()", "ValueError: 3 labels, 4 rows")
    assert classify(1, None, log) == Failure(KIND.OTHER, "ValueError: 3 labels, 4 rows")


def test_the_error_of_the_program_that_torchrun_has_started_decides() -> None:
    log = "[default0]:[rank0]: ModuleNotFoundError: No module named 'timm'\n"
    log += TRACEBACK.format("run(args)", "torch.distributed.elastic.multiprocessing.errors.")[:-1]
    log += "ChildFailedError: \n=====\ntrain.py FAILED\n  error_file: <N/A>\n=====\n"
    assert classify(1, None, log).kind is KIND.IMPORT_ERROR
    command = "subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit"
    assert classify(1, None, f"FileNotFoundError: [Errno 2] x\n{command}").kind is KIND.MISSING_FILE
    assert classify(1, None, command) == Failure(KIND.OTHER, command)


def test_an_error_whose_name_begins_with_an_underscore_is_the_last_one() -> None:
    log = TRACEBACK.format("read()", "FileNotFoundError: [Errno 2] no cache")
    log += TRACEBACK.format("zeros()", "numpy._core._exceptions._ArrayMemoryError: Unable to")
    assert classify(1, None, log).kind is KIND.OUT_OF_MEMORY


def test_a_warning_far_before_the_end_does_not_mislead() -> None:
    log = "cp: cache: No such file or directory\n" + "epoch done\n" * 5
    assert classify(1, None, log).kind is KIND.OTHER


def test_the_evidence_is_one_short_line_without_colours() -> None:
    log = "\x1b[31mModuleNotFoundError: No module named 'x'\x1b[0m" + "!" * 1000
    found = classify(1, None, log)
    assert found.evidence.startswith("ModuleNotFoundError: No module named 'x'!")
    assert len(found.evidence) == 200
    assert found.evidence.isprintable()


def test_what_cannot_pass_and_what_is_not_the_jobs_fault_are_different_classes() -> None:
    assert not [
        kind for kind in FailureClass if kind.value.is_permanent and kind.value.is_infrastructure
    ]


def test_a_long_line_ends_after_a_word_with_a_mark() -> None:
    line = "ValueError: " + "shape mismatch " * 20
    evidence = classify(1, None, line).evidence
    assert len(evidence) <= 200
    assert evidence.endswith(("shape ...", "mismatch ..."))
    assert classify(1, None, "ValueError: short").evidence == "ValueError: short"
