"""A task of a Java source: polled in the JVM, its records converted there, sent from here."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.config.definition import Found
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.java import rows
from headrace.pipelines.connect.java.connector import JavaSettings, divided, validated
from headrace.pipelines.connect.java.conversation import Conversation, position
from headrace.pipelines.connect.java.found import jars_for
from headrace.pipelines.connect.java.jvm import jvm
from headrace.pipelines.connect.model.batch import Batch, Mark, Position
from headrace.pipelines.connect.model.column import Column, nothing
from headrace.pipelines.connect.model.schema import OPTIONAL_BYTES
from headrace.pipelines.connect.tasks import Offsets, SourceTask

_LOOK_S: Final = 0.2
"""How often a poll that takes long looks whether the task must stop."""
_STOP_S: Final = 30.0
_MOST_UNSETTLED: Final = 20_000
"""Records that Java keeps until they are acknowledged, before a poll brings nothing for once."""
_LOG: Final = logging.getLogger(__name__)


class JavaSource(SourceTask):
    """The tasks of a Java source connector; a subclass names the connector."""

    takes_bytes = True
    java_name: ClassVar[str]

    @classmethod
    def validate(cls, given: Mapping[str, str], found: list[Found]) -> list[Found]:
        """What the connector itself finds."""
        return validated(cls.java_name, given)

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """As the connector divides its work."""
        return divided(cls.java_name, settings, most)

    def open(self, settings: Config, offsets: Offsets) -> None:
        """Start the task in the JVM."""
        assert isinstance(settings, JavaSettings)
        jars = jars_for(self.java_name, settings.given)
        self._java = Conversation(jvm(), jars, offsets)
        self._polling = False
        self._unsettled = 0
        self._settled = True
        self._java.ask("source", settings.given)

    def poll(self) -> Iterable[Batch]:
        """What Java's poll brings. One that takes long goes on while the task is asked to stop."""
        if self._unsettled > _MOST_UNSETTLED:
            return  # the host settles when nothing comes
        if not self._polling:
            self._java.begin("poll")
            self._polling = True
        while not self._java.is_answered(_LOOK_S):
            if self.context.wait(0):
                return
        self._polling = False
        told = self._java.answer()
        if told is not None:
            assert isinstance(told, list)
            yield from self._batches(told)

    def commit(self, partition: Position, offset: Position) -> None:
        """All that was polled is acknowledged; Java hears of it once, not for each partition."""
        if not self._settled and not self._polling:
            self._settled = True
            self._unsettled = 0
            self._java.ask("commit")

    def close(self) -> None:
        """Stop the task in the JVM."""
        java = getattr(self, "_java", None)
        if java is None:
            return
        try:
            if self._polling and not java.is_answered(_STOP_S):
                _LOG.warning("%s does not return from its poll", self.java_name)
                return
            if self._polling:
                java.answer()
            java.ask("stop")
        finally:
            java.close()

    def _batches(self, told: list[object]) -> Iterator[Batch]:
        runs, frame, (marked, dropped, unsettled) = told[0], told[1:11], told[11:]
        assert isinstance(runs, list)
        assert isinstance(marked, list)
        assert isinstance(dropped, list)
        self._settled = False
        self._unsettled = int(str(unsettled))
        for stage, executing, _, _, trace in dropped:
            _LOG.error("a record was dropped: %s by %s: %s", stage, executing, trace)
        marks = tuple(Mark(0, _kept(where), _kept(offset)) for where, offset in marked)
        whole = _columns(frame)
        start = 0
        for topic, partition, count in runs:
            stop = start + count
            run = whole.slice(start, stop).but(topic=topic, partition=partition)
            start = stop
            if start == len(whole):
                run = run.but(marks=tuple(Mark(stop, m.partition, m.offset) for m in marks))
            yield run
        if not runs and marks:
            yield whole.but(marks=marks)


def _columns(frame: list[object]) -> Batch:
    """All rows of a poll; topics and partitions are for the runs of them."""
    key_lengths, keys, value_lengths, values, times, counts, *headers = frame
    assert isinstance(times, memoryview)
    value = rows.column(_view(value_lengths), _view(values))
    key = rows.column(_view(key_lengths), _view(keys))
    return Batch(
        "",
        nothing(len(key)) if key.null_count == len(key) else Column(OPTIONAL_BYTES, key),
        Column(OPTIONAL_BYTES, value),
        pa.array(np.arange(len(value))),
        rows.timestamps(times),
        None if counts is None else rows.headers(_view(counts), [_view(each) for each in headers]),
    )


def _view(told: object) -> memoryview:
    assert isinstance(told, memoryview)
    return told


def _kept(told: object) -> Position:
    """A partition or offset as JSON can keep it: bytes are base64, as Connect keeps them."""
    return {
        key: base64.b64encode(value).decode() if isinstance(value, memoryview) else value
        for key, value in position(told).items()
    }
