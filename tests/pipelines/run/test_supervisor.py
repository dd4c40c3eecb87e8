"""The supervisor, on queries that live by a script and a clock that never waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.pipelines.run.backoff import Backoff
from headrace.pipelines.run.queries import WrongPipeline
from headrace.pipelines.run.supervisor import (
    Ended,
    Event,
    Failed,
    Finished,
    PipelineFailed,
    Policy,
    Progressed,
    Started,
    Stopping,
    Supervisor,
)
from tests.pipelines.run.scripted_spark import Query, Script, Session, Writer

POLICY = Policy(only_name="orders", backoff=Backoff(first_s=1, max_s=8))


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def session() -> Session:
    return Session()


def supervise(
    session: Session, function: Callable[[Any], Any], script: Script, policy: Policy = POLICY
) -> Iterator[Event]:
    return Supervisor(session, function, policy, script.world).events()


def starting(session: Session, *names: str) -> Callable[[Any], list[Query]]:
    return lambda spark: [session.start(name) for name in names]


def test_a_batch_pipeline_ends_with_its_function(session: Session, script: Script) -> None:
    """None means that everything is done."""
    assert list(supervise(session, lambda spark: None, script)) == [Ended(stopped=False)]


def test_progress_is_told_once_and_the_end_of_each_query(session: Session, script: Script) -> None:
    """Two queries with data of their own end by themselves; the run ends with the last."""

    def function(spark: Any) -> list[Query]:
        first, second = session.start("first"), session.start("second")
        script.at(1, first.finish_batch)
        script.at(5, first.end)
        script.at(20, second.end)
        return [first, second]

    events = list(supervise(session, function, script))
    assert events[0] == Started(("first", "second"))
    assert [type(event) for event in events[1:]] == [Progressed, Finished, Finished, Ended]
    assert events[-1] == Ended(stopped=False)


def test_each_progress_can_be_told(session: Session, script: Script) -> None:
    """With `every_progress` no trigger between two looks is left out, and none is told twice."""

    def function(spark: Any) -> Query:
        query = session.start("q")
        for second in (1.1, 1.2, 1.3, 7):
            script.at(second, query.finish_batch)
        script.at(9, query.end)
        return query

    def batches(policy: Policy) -> list[int]:
        events = supervise(session, function, script, policy)
        return [event.progress.batch_id for event in events if isinstance(event, Progressed)]

    assert batches(POLICY._replace(every_progress=True)) == [0, 1, 2, 3]
    script.now = 0
    assert batches(POLICY) == [2, 3]


def test_a_stop_waits_for_the_current_batch(session: Session, script: Script) -> None:
    """SIGTERM ends the run when each query has finished what it is doing, not before."""
    busy, idle = Query("busy"), Query("idle")
    busy.status["isTriggerActive"] = True
    script.at(3, script.request_stop)
    script.at(9, busy.finish_batch)
    events = list(supervise(session, lambda spark: [busy, idle], script))
    assert Stopping(("busy", "idle")) in events
    assert 9 <= script.now < 10
    assert (busy.stops, idle.stops) == (1, 1)
    assert [type(event) for event in events[-2:]] == [Progressed, Ended]
    assert events[-1] == Ended(stopped=True)


def test_a_stop_does_not_wait_for_ever(session: Session, script: Script) -> None:
    """A batch that takes longer than the time-out is interrupted."""
    busy = Query("busy")
    busy.status["isTriggerActive"] = True
    script.at(3, script.request_stop)
    policy = POLICY._replace(stop_timeout_s=10)
    assert list(supervise(session, lambda spark: busy, script, policy))[-1] == Ended(stopped=True)
    assert busy.stops == 1
    assert 13 <= script.now < 14


def test_a_failure_restarts_the_whole_pipeline(session: Session, script: Script) -> None:
    """The healthy query is stopped too and the function is called again after the pause."""
    calls = 0

    def function(spark: Any) -> list[Query]:
        nonlocal calls
        calls += 1
        queries = [session.start("a"), session.start("b")]
        if calls == 1:
            script.at(2, lambda: queries[0].fail(ValueError("poison")))
        else:
            for query in queries:
                script.at(script.now + 1, query.end)
        return queries

    events = list(supervise(session, function, script))
    failed = next(event for event in events if isinstance(event, Failed))
    assert (failed.query, failed.cause, failed.restart_in_s) == ("a", "ValueError: poison", 1)
    assert "ValueError: poison" in failed.trace
    assert calls == 2
    assert session.queries[1].stops == 1
    assert events[-1] == Ended(stopped=False)


def failing(session: Session, script: Script, *, rows: int) -> Callable[[Any], Query]:
    def function(spark: Any) -> Query:
        query = session.start("q")
        if rows:
            query.finish_batch(rows)
        script.at(script.now + 2, lambda: query.fail(ValueError("poison")))
        return query

    return function


def test_pauses_grow_and_restarts_end(session: Session, script: Script) -> None:
    """Back-off doubles up to its bound; after `max_restarts` in a row the cause is raised."""
    policy = POLICY._replace(max_restarts=5)
    events = supervise(session, failing(session, script, rows=0), script, policy)
    failures = (event.restart_in_s for event in events if isinstance(event, Failed))
    assert [next(failures) for _ in range(5)] == [1, 2, 4, 8, 8]
    with pytest.raises(PipelineFailed, match='"q" failed after 5 restarts: ValueError: poison'):
        next(failures)


def test_no_restart_means_none(session: Session, script: Script) -> None:
    """`max_restarts=0` fails at the first failure."""
    policy = POLICY._replace(max_restarts=0)
    with pytest.raises(PipelineFailed, match='query "q" failed: ValueError'):
        list(supervise(session, failing(session, script, rows=0), script, policy))
    assert len(session.queries) == 1


def test_what_would_fail_again_is_not_restarted(session: Session, script: Script) -> None:
    """The pipeline ends with the first failure, whatever number of restarts is allowed."""
    fault = ModuleNotFoundError("No module named 'till'")
    script.at(1, lambda: session.active[0].fail(fault))
    with pytest.raises(PipelineFailed, match=r'"q" failed: .*till.*; it is not restarted'):
        list(supervise(session, starting(session, "q"), script))
    assert len(session.queries) == 1


@pytest.mark.parametrize(("rows", "calm_s"), [(5, 300.0), (0, 1.0)])
def test_work_or_calm_ends_the_row_of_failures(
    session: Session, script: Script, rows: int, calm_s: float
) -> None:
    """A query that gets further between failures, or runs long without, is not given up."""
    policy = POLICY._replace(max_restarts=1, calm_s=calm_s)
    events = supervise(session, failing(session, script, rows=rows), script, policy)
    failures = [event for event in (next(events) for _ in range(20)) if isinstance(event, Failed)]
    assert len(failures) > 5
    assert {failure.restart_in_s for failure in failures} == {1}


def test_a_stop_is_heard_during_a_pause(session: Session, script: Script) -> None:
    """Nothing is started again after it."""
    script.at(2.5, script.request_stop)
    events = list(supervise(session, failing(session, script, rows=0), script))
    assert events[-1] == Ended(stopped=True)
    assert len(session.queries) == 1
    assert script.now < 4


def test_a_function_that_fails_at_once_is_not_called_again(
    session: Session, script: Script
) -> None:
    """A mistake in the pipeline is told, and what it had started is stopped."""
    calls = 0

    def function(spark: Any) -> None:
        nonlocal calls
        calls += 1
        session.start("half")
        raise KeyError("amount")

    with pytest.raises(PipelineFailed, match="function failed: KeyError: 'amount'"):
        list(supervise(session, function, script))
    assert calls == 1
    assert session.active == []


def test_a_function_that_fails_later_is_tried_again(session: Session, script: Script) -> None:
    """After a first success a failing call counts like a failing query."""
    calls = 0

    def function(spark: Any) -> Query | None:
        nonlocal calls
        calls += 1
        if calls == 1:
            return failing(session, script, rows=0)(spark)
        if calls == 2:
            raise OSError("no broker")
        return None

    events = list(supervise(session, function, script))
    causes = [event.cause for event in events if isinstance(event, Failed)]
    assert causes == ["ValueError: poison", "OSError: no broker"]
    assert events[-1] == Ended(stopped=False)


class StreamingQueryException(Exception):
    """The name by which Spark's two classes of this kind are told."""


def test_a_query_that_fails_inside_the_function_is_restarted(
    session: Session, script: Script
) -> None:
    """`query.awaitTermination()` in the function raises; that is no mistake of the function."""
    calls = 0

    def function(spark: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise StreamingQueryException("lost the broker")

    events = list(supervise(session, function, script))
    assert isinstance(events[0], Failed)
    assert calls == 2


def test_queries_inside_a_blocking_function_are_shown_and_stopped(
    session: Session, script: Script
) -> None:
    """A function that waits for its query itself is watched all the same."""
    over = threading.Event()

    def function(spark: Any) -> None:
        query = session.start("inner")
        query.finish_batch()
        over.wait(10)

    events = []
    for event in supervise(session, function, script, POLICY._replace(tick_s=0.01)):
        events.append(event)
        if isinstance(event, Progressed):
            script.request_stop()
        elif isinstance(event, Stopping):
            over.set()
    assert [type(event) for event in events] == [Started, Progressed, Stopping, Ended]
    assert session.queries[0].stops == 1
    assert session.cancelled == 1


def test_queries_that_were_not_returned_are_watched(session: Session, script: Script) -> None:
    """Forgetting to return a query does not end the run."""

    def function(spark: Any) -> None:
        script.at(30, session.start("forgotten").end)

    assert list(supervise(session, function, script)) == [
        Started(("forgotten",)),
        Finished("forgotten"),
        Ended(stopped=False),
    ]


def test_once_ends_when_the_data_of_now_is_done(session: Session, script: Script) -> None:
    """A writer gets Spark's trigger for it; a started query is stopped when it finds no more."""
    writer = Writer(session, "later")
    started = session.start("started")

    def drained() -> None:
        started.status["isDataAvailable"] = False

    script.at(2, started.finish_batch)
    script.at(4, drained)
    script.at(6, lambda: session.queries[1].end())
    events = list(
        supervise(session, lambda spark: [started, writer], script, POLICY._replace(once=True))
    )
    assert writer.triggers == {"availableNow": True}
    assert started.stops == 1
    assert events[-1] == Ended(stopped=False)
    assert 6 <= script.now < 7


def test_a_query_without_a_name_is_refused(
    session: Session, script: Script, tmp_path: Path
) -> None:
    """Spark would keep its checkpoint under a new random name at each start."""
    left_over = tmp_path / "11111111-2222-3333-4444-555555555555"
    left_over.mkdir()

    def function(spark: Any) -> Query:
        assert not left_over.exists()
        (tmp_path / "c56a4180-65aa-42ec-a945-5fd21dec0538").mkdir()
        return session.start(None)

    policy = POLICY._replace(checkpoints=tmp_path)
    with pytest.raises(WrongPipeline, match=r'add \.queryName\("…"\) before \.start\(\)'):
        list(supervise(session, function, script, policy))
    assert list(tmp_path.iterdir()) == []
    assert session.active == []


def test_sys_exit_is_an_end(session: Session, script: Script) -> None:
    """`sys.exit()` in the function ends the run in order; with a code it fails."""

    def leave(code: int) -> Callable[[Any], None]:
        def function(spark: Any) -> None:
            raise SystemExit(code)

        return function

    assert list(supervise(session, leave(0), script)) == [Ended(stopped=False)]
    with pytest.raises(PipelineFailed, match=r"ended with SystemExit\(3\)"):
        list(supervise(session, leave(3), script))


@pytest.mark.parametrize("stopping", [True, False])
def test_a_spark_that_has_gone_ends_the_run(
    session: Session, script: Script, *, stopping: bool
) -> None:
    """systemd ends the JVM together with us, which is a stop; by itself it is a failure."""

    class Gone(Query):
        @property
        def status(self) -> dict[str, Any]:
            raise ConnectionResetError("Answer from Java side is empty")

        @status.setter
        def status(self, value: dict[str, Any]) -> None: ...

        @property
        def lastProgress(self) -> Any:  # noqa: N802
            if script.now > 3:
                raise ConnectionResetError("Answer from Java side is empty")
            return None

    script.at(2 if stopping else 1000, script.request_stop)
    events = supervise(session, lambda spark: Gone("q"), script)
    assert next(events) == Started(("q",))
    if stopping:
        assert list(events) == [Stopping(("q",)), Ended(stopped=True)]
        return
    with pytest.raises(PipelineFailed, match="Spark does not answer any more: ConnectionReset"):
        next(events)
