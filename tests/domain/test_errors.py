from __future__ import annotations

import pickle

import pytest

from motet.domain import errors


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        (errors.MotetError, 1),
        (errors.BadInput, 2),
        (errors.BadArgument, 2),
        (errors.UnknownName, 2),
        (errors.JobFailed, 1),
        (errors.NotFound, 3),
        (errors.AuthenticationFailed, 4),
        (errors.Unreachable, 5),
        (errors.ConnectionLost, 5),
        (errors.Interrupted, 130),
    ],
)
def test_every_error_has_the_exit_code_of_the_command_line(
    error: type[errors.MotetError], exit_code: int
) -> None:
    assert error.exit_code == exit_code
    assert issubclass(error, errors.MotetError)


def test_the_drawn_tree_names_every_error() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.MotetError)
    }
    drawn = errors.__doc__ or ""
    assert all(name in drawn for name in defined)


def test_unknown_name_suggests_the_nearest_and_lists_all() -> None:
    message = str(errors.UnknownName("app", "lsaso", ["mlr", "lasso", "nmf"]))
    assert message == "unknown app 'lsaso'; did you mean 'lasso'? known: lasso, mlr, nmf"


def test_unknown_name_ignores_case_when_it_looks_for_the_nearest() -> None:
    assert "did you mean 'nmf'?" in str(errors.UnknownName("app", "NMF", ["mlr", "nmf"]))


def test_unknown_name_that_others_begin_with_suggests_the_first_of_them() -> None:
    message = str(errors.UnknownName("curve", "lda", ["nmf", "lda-reuters", "lda-kos-k50"]))
    assert message.startswith("unknown curve 'lda'; did you mean 'lda-kos-k50'?")


def test_unknown_name_far_from_all_only_lists_them() -> None:
    message = str(errors.UnknownName("app", "xyzzy", ["mlr", "nmf"]))
    assert message == "unknown app 'xyzzy'; known: mlr, nmf"


def test_unknown_name_without_any_known_says_so() -> None:
    message = str(errors.UnknownName("job", "j1", []))
    assert message == "unknown job 'j1'; none is known here"


def test_errors_cross_process_boundaries_unchanged() -> None:
    error = errors.UnknownName("app", "nfm", ["mlr", "nmf"])
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.known) == (type(error), str(error), error.known)
