"""What a `topic_writer` asks of Spark for each batch, and which query it takes itself to be of.

Spark is played here; `tests/pipelines/connect` has a server.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple, Self

import pytest
from pyspark.sql.connect.session import SparkSession

from headrace.errors import ConfigError
from headrace.pipelines import topic_writer
from headrace.pipelines.sink.faults import NoTransactions
from headrace.pipelines.sink.foreach_batch import TopicWriter
from headrace.pipelines.sink.options import SinkOptions, sink_options

LONGEST = 249
"""Characters that Kafka allows for the name of a topic."""


class Batch:
    """A DataFrame whose write keeps the options that it was given."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.saved = False

    @property
    def write(self) -> Self:
        return self

    def format(self, name: str) -> Self:
        assert name == "headrace"
        return self

    def options(self, **given: str) -> Self:
        self.given |= given
        return self

    def option(self, key: str, value: str) -> Self:
        self.given[key] = value
        return self

    def mode(self, name: str) -> Self:
        assert name == "append"
        return self

    def save(self) -> None:
        self.saved = True


class Query(NamedTuple):
    id: str
    name: str | None = None


class Session:
    """The session of a Spark Connect server in which queries run."""

    def __init__(self, *active: Query) -> None:
        self.active = list(active)

    @property
    def streams(self) -> Self:
        return self


def written(writer: TopicWriter, batch_id: int = 0) -> SinkOptions:
    """What the sink reads from the options of a write."""
    batch: Any = Batch()
    writer(batch, batch_id)
    assert batch.saved
    return sink_options(batch.given)


def on_server(
    monkeypatch: pytest.MonkeyPatch, writer: TopicWriter, session: Session
) -> TopicWriter:
    """The writer as the process of a query gets it."""
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: session)
    copy: TopicWriter = pickle.loads(pickle.dumps(writer))
    return copy


def test_a_write_is_named_by_its_topic() -> None:
    """Or by the name that is given; the rest are the options of the sink."""
    found = written(topic_writer("t", options={"kafka.acks": "all"}))
    assert (found.topic, found.write_name, found.exactly_once) == ("t", "t", True)
    assert written(topic_writer("t", name="second")).write_name == "second"


def test_a_long_topic_has_a_short_name_of_its_own() -> None:
    """The same each time, and another for another topic; a name that is given is left as it is."""
    one, other = "a" * LONGEST, "a" * (LONGEST - 1) + "b"
    names = [written(topic_writer(topic)).write_name for topic in (one, one, other)]
    assert names[0] == names[1] != names[2]
    assert written(topic_writer("a" * 100)).write_name == "a" * 100
    with pytest.raises(ConfigError, match="option writeName"):
        written(topic_writer("t", name=one))


def test_at_least_once_needs_neither_a_name_nor_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whichever case the option is written; a wrong guarantee is refused at once."""
    writer = topic_writer("t", options={"Guarantee": "at-least-once"})
    for each in (writer, on_server(monkeypatch, writer, Session())):
        found = written(each)
        assert (found.topic, found.write_name, found.stream_batch) == ("t", None, None)
        assert not found.exactly_once
    with pytest.raises(ConfigError, match="option guarantee is 'twice'"):
        topic_writer("t", options={"guarantee": "twice"})


def test_the_query_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What starts or stops beside it later changes nothing."""
    session = Session(Query("mine"))
    writer = on_server(monkeypatch, topic_writer("t"), session)
    assert written(writer, 3).stream_batch == ("mine", 3)
    session.active.append(Query("other"))
    assert written(writer, 4).stream_batch == ("mine", 4)
    session.active.remove(Query("mine"))
    assert written(writer, 5).stream_batch == ("mine", 5)
    again = on_server(monkeypatch, writer, session)
    assert written(again, 6).stream_batch == ("other", 6), "another start, another process"


def test_a_query_that_cannot_be_told_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the writer has been told its name."""
    session = Session(Query("a", "counts"), Query("b"))
    unnamed = on_server(monkeypatch, topic_writer("t"), session)
    with pytest.raises(NoTransactions, match="running: counts, one without a name"):
        written(unnamed)
    named = on_server(monkeypatch, topic_writer("t", query="counts"), session)
    assert written(named, 1).stream_batch == ("a", 1)
