"""A task of a Java sink: rows of bytes go to the JVM, are converted there, and put."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Found
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.java import rows
from headrace.pipelines.connect.java.connector import JavaSettings, divided, validated
from headrace.pipelines.connect.java.conversation import Conversation
from headrace.pipelines.connect.java.found import jars_for
from headrace.pipelines.connect.java.jvm import jvm
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Partition, RowsRefused, SinkTask


class JavaSink(SinkTask):
    """The tasks of a Java sink connector; a subclass names the connector."""

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

    def open(self, settings: Config) -> None:
        """Start the task in the JVM."""
        assert isinstance(settings, JavaSettings)
        self._java = Conversation(jvm(), jars_for(self.java_name, settings.given))
        self._java.ask("sink", settings.given)

    def assigned(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """Open them; where the task seeks to meanwhile is where they are read from."""
        seeks, _ = self._done("open", [list(each) for each in partitions])
        return seeks

    def revoked(self, partitions: Iterable[Partition]) -> None:
        """Close them."""
        self._done("close", [list(each) for each in partitions])

    def put(self, batch: Batch) -> None:
        """Convert, transform and put in the JVM."""
        command = [
            batch.topic,
            batch.partition,
            rows.framed_numbers(batch.positions),
            rows.framed_times(batch.timestamps, len(batch)),
            *rows.framed(batch.key.to_arrow()),
            *rows.framed(batch.value.to_arrow()),
            *rows.framed_headers(batch.headers),
        ]
        seeks, (refused,) = self._done("put", *command)
        self.context.seek(seeks)
        assert isinstance(refused, dict)
        if refused:
            raise RowsRefused({row: _reason(failure) for row, failure in refused.items()})

    def flush(self, offsets: Mapping[Partition, int]) -> Mapping[Partition, int] | None:
        """Ask the task how far it is safe."""
        asked = [[topic, partition, offset] for (topic, partition), offset in offsets.items()]
        seeks, (safe,) = self._done("commit", asked)
        self.context.seek(seeks)
        return _places(safe)

    def close(self) -> None:
        """Stop the task in the JVM."""
        java = getattr(self, "_java", None)
        if java is not None:
            try:
                java.ask("stop")
            finally:
                java.close()

    def _done(self, verb: str, *arguments: object) -> tuple[dict[Partition, int], list[object]]:
        """Where the task seeks to, and what else it answers."""
        told = self._java.ask(verb, *arguments)
        assert isinstance(told, list)
        return _places(told[0]), told[1:]


def _places(told: object) -> dict[Partition, int]:
    assert isinstance(told, list)
    return {(topic, partition): offset for topic, partition, offset in told}


def _reason(failure: list[object]) -> str:
    stage, executing, kind, message, _ = failure
    return f"{stage} by {executing}: {kind}: {message}"
