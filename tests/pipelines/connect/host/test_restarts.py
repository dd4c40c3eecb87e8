"""Failed tasks that are restarted without being asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headrace.pipelines.connect.host.restarts import Restarts
from headrace.pipelines.connect.state.records import State
from tests.pipelines.connect.host.running import Tasks, numbers, patiently

Hosts = Callable[..., Tasks]
HOUR_MS = 3_600_000


def test_never_is_the_default() -> None:
    assert Restarts({}).delay_ms(0) is None


def test_delays_double_up_to_the_longest() -> None:
    restarts = Restarts({"headrace.task.restart": "on-failure"})
    delays = [restarts.delay_ms(0) for _ in range(21)]
    assert delays[:4] == [1_000, 2_000, 4_000, 8_000]
    assert delays[9:20] == [300_000] * 11
    assert delays[20] is None
    assert restarts.delay_ms(HOUR_MS - 1) is None
    assert restarts.delay_ms(HOUR_MS) == 1_000


def test_a_task_is_restarted_until_it_runs(
    hosts: Hosts, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """It is FAILED between attempts, each with its trace, and goes on where it was."""
    (tmp_path / "fail").write_text("2")
    tasks = hosts()
    config = tasks.counting(
        topic, topic, upto=10, headrace_task_restart="on-failure", headrace_task_restart_delay_ms=1
    )
    task = tasks.start(tasks.spec(topic, config))
    patiently(lambda: numbers(bootstrap, topic) == list(range(10)), lambda: tasks.traces)
    failed = [State.RUNNING, State.FAILED]
    assert tasks.states[task] == [*failed, *failed, State.RUNNING]
    assert ["2 failures to come" in tasks.traces[0], "1 failures" in tasks.traces[1]] == [True] * 2


def test_a_task_that_fails_too_often_stays_failed(hosts: Hosts, tmp_path: Path, topic: str) -> None:
    (tmp_path / "fail").write_text("100")
    tasks = hosts()
    policy = {
        "headrace.task.restart": "on-failure",
        "headrace.task.restart.delay.ms": "1",
        "headrace.task.restart.max.per.hour": "2",
    }
    task = tasks.start(tasks.spec(topic, tasks.counting(topic, topic) | policy))
    patiently(lambda: (tmp_path / "fail").read_text() == "97")
    tasks.until(task, *[State.RUNNING, State.FAILED] * 3)
    assert tasks.launcher.stop([task], 60) == []
    assert (tmp_path / "fail").read_text() == "97"
    assert tasks.states[task][-1] is State.FAILED
