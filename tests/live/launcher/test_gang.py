"""All processes of a gang start, or none; all end when one fails."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.live.launcher.gang import ProcessGang
from motet.live.launcher.messages import ExitReason, RankExit


def end(
    code: int | None = 0, reason: ExitReason = "exited", started_s: float | None = 1.0
) -> RankExit:
    return RankExit(code, None, reason, started_s, 2.0)


def test_no_process_runs_before_every_shepherd_is_ready() -> None:
    gang = ProcessGang(2)
    gang.held(0)
    assert gang.phase == "hold"
    gang.held(1)
    assert gang.phase == "run"


def test_a_shepherd_that_never_comes_stops_the_others() -> None:
    gang = ProcessGang(2)
    gang.held(0)
    gang.ended(1, end(None, "never_started", None))
    assert gang.phase == "stop"
    assert gang.exits is None


def test_the_gang_runs_since_the_start_of_its_last_process() -> None:
    gang = ProcessGang(2)
    gang.started(1, 5.0)
    assert gang.running_since_s is None
    gang.started(0, 3.0)
    assert gang.running_since_s == 5.0


def test_a_process_that_succeeds_leaves_the_others_alone() -> None:
    gang = ProcessGang(2)
    for rank in (0, 1):
        gang.started(rank, 1.0)
    gang.ended(0, end())
    assert gang.phase == "run"
    gang.ended(1, end())
    assert gang.exits == (end(), end())


def test_an_adopted_gang_of_which_one_process_runs_is_started_completely() -> None:
    gang = ProcessGang(2)
    gang.started(0, 1.0)
    assert gang.phase == "run"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["held", "started", "ended", "failed", "stop"]), st.integers(0, 2)
        ),
        max_size=30,
    )
)
def test_a_stopped_gang_never_runs_again(steps: list[tuple[str, int]]) -> None:
    gang, has_stopped = ProcessGang(3), False
    for what, rank in steps:
        match what:
            case "held":
                gang.held(rank)
            case "started":
                gang.started(rank, 1.0)
            case "ended":
                gang.ended(rank, end())
            case "failed":
                gang.ended(rank, end(1))
            case _:
                gang.stop()
        has_stopped = has_stopped or what in ("failed", "stop")
        assert (gang.phase == "stop") == has_stopped


def running(size: int) -> ProcessGang:
    gang = ProcessGang(size)
    for rank in range(size):
        gang.held(rank)
        gang.started(rank, 1.0)
    return gang


def test_a_gang_has_its_new_size_when_processes_have_joined_and_left() -> None:
    gang = running(2)
    gang.grow(3)
    gang.dismiss([1])
    assert not gang.has_its_size
    gang.started(2, 5.0)
    assert not gang.has_its_size
    gang.ended(1, end(None, "stopped"))
    assert gang.has_its_size
    assert (gang.phase, gang.running_since_s) == ("run", 1.0)


def test_the_end_of_a_process_that_had_to_leave_is_no_failure() -> None:
    gang = running(2)
    gang.dismiss([1])
    gang.ended(1, end(1))
    assert gang.phase == "run"
    gang.ended(0, end())
    assert gang.exits is not None
    assert [each.reason for each in gang.exits] == ["exited", "dismissed"]
    assert not any(each.has_failed for each in gang.exits)


def test_a_process_that_joined_and_fails_stops_the_others() -> None:
    gang = running(1)
    gang.grow(2)
    gang.started(1, 2.0)
    gang.ended(1, end(1))
    assert gang.phase == "stop"


def test_processes_that_joined_leave_when_the_first_has_succeeded() -> None:
    gang = running(2)
    gang.grow(3)
    gang.ended(0, end())
    assert gang.dismissed == (2,)
    assert gang.phase == "run"


def test_an_adopted_gang_that_was_resized_is_started_completely() -> None:
    gang = ProcessGang(3, joined=1)
    gang.dismiss([1])
    gang.ended(1, end(None, "stopped"))
    gang.started(0, 1.0)
    assert (gang.phase, gang.running_since_s) == ("run", 1.0)
    assert not gang.has_its_size
    gang.started(2, 3.0)
    assert gang.has_its_size
