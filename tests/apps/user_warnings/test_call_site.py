"""Warnings name the line of the program that called Motet."""

from __future__ import annotations

import threading
import warnings

from motet.apps.user_warnings.call_site import CallSite


def test_a_warning_from_another_thread_names_the_line_of_the_caller() -> None:
    caller = CallSite.of_caller()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        thread = threading.Thread(target=lambda: caller.warn("late", UserWarning))
        thread.start()
        thread.join()
    assert [(each.filename, each.lineno) for each in given] == [(__file__, caller.line)]


def test_a_warning_is_given_once_per_line_by_default() -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("default")
        caller = CallSite.of_caller()
        for _ in range(2):
            caller.warn("twice", UserWarning)
    assert len(given) == 1
