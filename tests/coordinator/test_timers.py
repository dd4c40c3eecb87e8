"""Timers expire once, in order, at the deadline set last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.timers import Timers


def test_a_later_deadline_replaces_an_earlier_one() -> None:
    """What a heartbeat does: the first deadline passes without a word."""
    timers = Timers()
    timers.set("member", 100)
    timers.set("member", 200)
    assert timers.due(150) == []
    assert timers.next_wake_ms() == 200
    assert timers.due(200) == ["member"]
    assert timers.due(1000) == []


def test_a_deadline_that_was_moved_keeps_its_place() -> None:
    """Due together: the earlier deadline first, though the other one was set before it."""
    timers = Timers()
    timers.set("moved", 100)
    timers.set("moved", 300)
    timers.set("other", 200)
    assert timers.due(400) == ["other", "moved"]


def test_a_cancelled_timer_never_expires() -> None:
    """A member that left is not expired, not even if it comes back."""
    timers = Timers()
    timers.set("member", 100)
    timers.cancel("member")
    timers.set("member", 300)
    assert timers.due(200) == []
    assert timers.due(300) == ["member"]


Steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 4), st.integers(0, 50)),
        st.tuples(st.just("cancel"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("due"), st.just(0), st.integers(0, 50)),
    )
)


@given(Steps)
def test_timers_behave_like_a_plain_dict_of_deadlines(steps: list[tuple[str, int, int]]) -> None:
    """Whatever is set, moved and cancelled: due is exactly what a dict would say."""
    timers = Timers()
    model: dict[int, int] = {}
    now = 0
    for what, key, number in steps:
        if what == "set":
            timers.set(key, now + number)
            model[key] = now + number
        elif what == "cancel":
            timers.cancel(key)
            model.pop(key, None)
        else:
            now += number
            due = [key for key, deadline in model.items() if deadline <= now]
            found = timers.due(now)
            assert sorted(map(str, found)) == sorted(map(str, due))
            deadlines = [model.pop(key) for key in found if isinstance(key, int)]
            assert deadlines == sorted(deadlines)
        wake = timers.next_wake_ms()
        assert (wake is not None) if model else True
        assert not model or (wake is not None and wake <= min(model.values()))
        assert len(timers) == len(model)
