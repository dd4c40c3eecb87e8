"""The supervisor on real queries, in the session that all tests share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipelines.run.queries import WrongPipeline
from headrace.pipelines.run.supervisor import (
    Ended,
    Event,
    Finished,
    PipelineFailed,
    Policy,
    Progressed,
    Started,
    Supervisor,
    World,
)
from headrace.pipelines.session import activate
from tests.pipelines.run import shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


class Stop:
    """The wish to stop, as the command has it."""

    asked = False


@pytest.fixture
def checkpoints(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    spark.conf.set(CHECKPOINTS, str(tmp_path / "checkpoints"))
    yield tmp_path / "checkpoints"
    spark.conf.unset(CHECKPOINTS)
    assert spark.streams.active == []


def supervise(
    spark: SparkSession,
    function: Callable[[Any], Any],
    checkpoints: Path,
    *,
    once: bool = False,
    stop: Stop | None = None,
) -> Iterator[Event]:
    policy = Policy(only_name="only", once=once, checkpoints=checkpoints, max_restarts=0)
    stop = stop or Stop()
    prepare = partial(activate, spark)
    world = World(lambda: stop.asked, time.sleep, time.monotonic, lambda: 0.5, prepare)
    return Supervisor(spark, function, policy, world).events()


def test_a_batch_runs_to_its_end(
    spark: SparkSession, checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function computes in a thread and finds the session as usual."""
    monkeypatch.setenv("SHOP_OUT", str(tmp_path / "out"))
    assert list(supervise(spark, shop.totals, checkpoints)) == [Ended(stopped=False)]
    assert spark.read.parquet(str(tmp_path / "out")).count() == 100


def test_a_single_writer_keeps_its_checkpoint_under_one_name(
    spark: SparkSession, checkpoints: Path
) -> None:
    """`once` ends with the data of now; the second run goes on where the first one was."""
    batches = []
    for _ in range(2):
        events = list(supervise(spark, shop.single, checkpoints, once=True))
        assert events[0] == Started(("only",))
        assert events[-2:] == [Finished("only"), Ended(stopped=False)]
        batches += [event.progress.batch_id for event in events if isinstance(event, Progressed)]
    assert [path.name for path in checkpoints.iterdir()] == ["only"]
    assert batches == sorted(set(batches))


def test_a_stop_ends_a_running_query_without_a_failure(
    spark: SparkSession, checkpoints: Path
) -> None:
    """The last progress is told, nothing is left running."""
    stop = Stop()
    events = []
    for event in supervise(
        spark, lambda s: shop.ticks(s).writeStream.format("noop"), checkpoints, stop=stop
    ):
        events.append(event)
        if isinstance(event, Progressed) and event.progress.input_rows:
            stop.asked = True
    assert events[-1] == Ended(stopped=True)


def test_queries_that_would_forget_their_progress_are_refused(
    spark: SparkSession, checkpoints: Path
) -> None:
    """A started query without a name, and two writers without one; folders of the former go with
    the next start at the latest, if Spark was still writing there.
    """
    with pytest.raises(WrongPipeline, match="has no name"):
        list(supervise(spark, shop.nameless, checkpoints))
    assert spark.streams.active == []
    for _ in range(2):
        with pytest.raises(WrongPipeline, match="2 writers without a name"):
            list(supervise(spark, shop.two, checkpoints))
    assert not checkpoints.exists() or list(checkpoints.iterdir()) == []


def test_a_mistake_is_told_in_sparks_words(spark: SparkSession, checkpoints: Path) -> None:
    """One line, with the column at fault."""
    with pytest.raises(PipelineFailed, match="no_such_column") as caught:
        list(supervise(spark, shop.mistaken, checkpoints))
    assert "\n" not in str(caught.value)
