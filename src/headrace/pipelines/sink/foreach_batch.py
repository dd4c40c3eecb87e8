"""A topic as the target of `foreachBatch`: each batch of a stream is written exactly once.

A write is part of its batch by the id of the query and the number of the batch. Spark tells both to
the tasks of a write on the thread that it calls the function on. With Spark Connect the function
runs in a process of its own and reaches the server as a client does, where tasks do not know their
query; it is looked up in the session that it was started from, once. Each start of a query has a
process of its own, which unpickles the function, so what it has found stays true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.pipelines.sink.faults import NoQuery
from headrace.pipelines.sink.options import (
    STREAM_BATCH,
    WRITE_NAME,
    StreamBatch,
    default_write_name,
    is_exactly_once,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def topic_writer(
    topic: str,
    *,
    name: str | None = None,
    query: str | None = None,
    options: Mapping[str, str] | None = None,
) -> TopicWriter:
    """A function for `foreachBatch` that writes each batch to a topic, by default exactly once.

    It takes the results of any output mode: `update` over Spark Connect needs it, and so does a
    batch that is written to a topic and elsewhere. `name` tells apart the writers of one query and
    is the topic's by default. `query` is the name of the query (`queryName`), needed over Spark
    Connect when the session runs several. `options` are those of the sink.
    """
    given = dict(options or {})
    if not is_exactly_once(given):
        return TopicWriter(topic, None, query, given)
    return TopicWriter(topic, name or default_write_name(topic), query, given)


class TopicWriter:
    """Call it with a batch and its number; it is pickled to a Spark Connect server.

    Without a name its writes are on their own, and no query is looked for.
    """

    def __init__(
        self, topic: str, name: str | None, query: str | None, options: Mapping[str, str]
    ) -> None:
        self._topic = topic
        self._name = name
        self._query = query
        self._options = options
        self._started_from: Any = None
        self._query_id: str | None = None

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        writer = batch.write.format("headrace").options(**self._options)
        writer = writer.option("topic", self._topic)
        if self._name is not None:
            writer = writer.option(WRITE_NAME, self._name)
            if self._started_from is not None:
                part_of = StreamBatch(self._find_query(), batch_id)
                writer = writer.option(STREAM_BATCH, part_of.text)
        writer.mode("append").save()

    def __getstate__(self) -> tuple[Any, ...]:
        return self._topic, self._name, self._query, self._options

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """On the server: while the function is unpickled, the active session is the query's own.

        The batches come with copies of that session, which do not know the query.
        """
        from pyspark.sql.connect.session import SparkSession

        self._topic, self._name, self._query, self._options = state
        self._started_from = SparkSession.getActiveSession()
        self._query_id = None

    def _find_query(self) -> str:
        """Its id. Later, other queries may run in the session, and this one may have ended."""
        if self._query_id is not None:
            return self._query_id
        running = self._started_from.streams.active
        found = [each for each in running if self._query in (None, each.name)]
        if len(found) != 1:
            names = ", ".join(each.name or "one without a name" for each in running) or "none"
            raise NoQuery(
                f"topic_writer({self._topic!r}) does not know which query it belongs to (running: "
                f'{names}); name the query, .queryName("counts"), and give the name to the writer, '
                'topic_writer(…, query="counts")'
            )
        self._query_id = str(found[0].id)
        return self._query_id
