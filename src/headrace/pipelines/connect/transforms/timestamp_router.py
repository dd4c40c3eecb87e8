"""TimestampRouter: the name of the topic has the time of the record in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.java.date_format import DateFormat, InvalidDateFormat
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.rows import runs
from headrace.pipelines.connect.transforms.transform import Transform

_TIMES_KEPT = 10_000


def _check_format(name: str, value: object) -> None:
    try:
        DateFormat(str(value))
    except InvalidDateFormat as fault:
        raise ConfigException.of(name, value, str(fault)) from None


class TimestampRouter(Transform):
    """A record without a timestamp is a fault."""

    definition: ClassVar = Definition(
        (
            Key(
                "topic.format",
                Kind.STRING,
                "${topic}-${timestamp}",
                "The new name, where ${topic} is the topic's name and ${timestamp} the time.",
                "HIGH",
            ),
            Key(
                "timestamp.format",
                Kind.STRING,
                "yyyyMMdd",
                "How the time is written, in the syntax of Java's SimpleDateFormat, in UTC.",
                "HIGH",
                check=_check_format,
            ),
        )
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._topic_format = str(settings["topic.format"])
        self._written = lru_cache(_TIMES_KEPT)(DateFormat(str(settings["timestamp.format"])).text)

    def _topic(self, topic: str, timestamp: int) -> str:
        named = self._topic_format.replace("${topic}", topic)
        return named.replace("${timestamp}", self._written(timestamp))

    def apply(self, record: Record) -> Record:
        if record.timestamp is None:
            raise DataException(f"Timestamp missing on record: {record}")
        return record.but(topic=self._topic(record.topic, record.timestamp))

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        if batch.timestamps is None or batch.timestamps.null_count:
            return None
        topics = [self._topic(batch.topic, time) for time in batch.timestamps.to_pylist()]
        return [batch.slice(start, stop).but(topic=topics[start]) for start, stop in runs(topics)]
