"""The MQTT sink: records as messages, to a topic of the statement or one that the record names.

Bytes and strings are published as they are, anything else as JSON. What `put` took is with the
server when it returns, if the quality of service is at least 1. A record without a value clears a
retained message, and is nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.documents import field_of, payload_of
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.kcql import Statement
from headrace.pipelines.connect.connectors.mqtt.filters import check_topic
from headrace.pipelines.connect.connectors.mqtt.settings import KCQL, SinkSettings
from headrace.pipelines.connect.faults import ConfigException, ConnectException, DataException
from headrace.pipelines.connect.model import java_text
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.tasks import RowsRefused, SinkTask, sink

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.mqtt.session import Publisher

_KEY: Final = "_key"
_LENSES: Final = "io.lenses.streamreactor.connect.mqtt.sink.MqttSinkConnector"


@sink(
    "com.datamountaineer.streamreactor.connect.mqtt.sink.MqttSinkConnector",
    version="8.1.0",
    settings=SinkSettings,
    aliases=(_LENSES, "MqttSinkConnector", "MqttSink"),
)
class MqttSink(SinkTask):
    """One connection for each task."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, SinkSettings)
        settings.access("")
        settings.targets()
        return [{}] * most

    def open(self, settings: Config) -> None:
        assert isinstance(settings, SinkSettings)
        self._settings = settings
        self._targets = settings.targets()
        access = settings.access(self.context.connector)
        if self.context.task:
            access = replace(access, client_id=f"{access.client_id}-{self.context.task}")
        self._access = replace(access, clean=True)  # what is not acknowledged is put again
        self._publisher: Publisher | None = None

    def put(self, batch: Batch) -> None:
        statement = self._targets.get(batch.topic)
        if statement is None:
            raise ConnectException(
                f"{KCQL} has no statement with FROM {batch.topic}, which is among the topics"
            )
        messages: list[tuple[str, bytes]] = []
        refused: dict[int, str] = {}
        for row, record in enumerate(batch.records()):
            if record.value is None and not self._settings.retained:
                continue
            try:
                messages.append(_message(statement, record))
            except (DataException, ConfigException) as fault:
                refused[row] = str(fault)
        if messages:
            self._publish(messages)
        if refused:
            raise RowsRefused(refused)

    def close(self) -> None:
        """Leave the server."""
        self._leave()

    def _publish(self, messages: list[tuple[str, bytes]]) -> None:
        with needed_by("the MQTT sink"):
            from headrace.pipelines.connect.connectors.mqtt.session import Publisher
        settings = self._settings
        try:
            if self._publisher is None:
                made = Publisher(self._access)
                made.connect()
                self._publisher = made
            self._publisher.publish(messages, quality=settings.quality, retained=settings.retained)
        except BaseException:
            self._leave()  # a client that is left behind would send its messages later
            raise

    def _leave(self) -> None:
        publisher = getattr(self, "_publisher", None)
        self._publisher = None
        if publisher is not None:
            publisher.close()


def _message(statement: Statement, record: Record) -> tuple[str, bytes]:
    schema, value = record.value_schema, record.value
    wanted = statement.options.get("WITHTARGET")
    topic = statement.target
    if wanted is not None:
        inner, found = (
            (record.key_schema, record.key) if wanted == _KEY else field_of(schema, value, wanted)
        )
        if found is None:
            raise DataException(f"the record names no topic: WITHTARGET={wanted} is null")
        topic = java_text.text_of(found, inner)
        check_topic(f"WITHTARGET={wanted}", topic)
    return topic, payload_of(schema, value, statement.fields if value is not None else ())
