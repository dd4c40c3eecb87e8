"""The MQTT source: messages of a server as records whose keys are the messages' topics.

A message of quality 1 is acknowledged to the MQTT server once Kafka has acknowledged its record.
With a session that the server keeps (`clean` false) nothing is lost, whatever is killed. The server
keeps the position: what is kept as an offset is a number to acknowledge by.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.documents import key_text
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.mqtt.filters import matches
from headrace.pipelines.connect.connectors.mqtt.settings import (
    KCQL,
    ConfluentSettings,
    Route,
    SourceSettings,
)
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch, Mark, Position, of_records
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.mqtt.session import Message, Subscriber

_LOG: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 2000
_WAIT_S: Final = 0.5
_RETRY_S: Final = 1.0
_RECEIVED: Final = "received"


class _MqttSource(SourceTask):
    """A task with some of the connector's filters."""

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, SourceSettings | ConfluentSettings)
        self._routes = settings.routes()
        self._throws = isinstance(settings, SourceSettings) and settings.throw_on_error
        self._quality = settings.quality
        if self._quality == 2:
            _LOG.warning(
                "quality of service 2 is subscribed to as 1: a server has a message of quality 2 "
                "delivered before Kafka has it, so that it would be lost if the task were killed"
            )
            self._quality = 1
        access = settings.access(self.context.connector)
        if self.context.task:
            access = replace(access, client_id=f"{access.client_id}-{self.context.task}")
        self._access = access
        self._where = {"client": access.client_id}
        self._subscriber: Subscriber | None = None
        self._unacknowledged: deque[Message] = deque()

    def poll(self) -> Iterable[Batch]:
        taken = self._connected().take(_AT_ONCE, 0 if self._unacknowledged else _WAIT_S)
        records = []
        for message in taken:
            made = self._records(message)
            records += made
            if made and message.qos:
                self._unacknowledged.append(message)
            elif not made:
                self._connected().acknowledge(message)  # dropped: it need not come again
        batches = of_records(records)
        if batches:
            last = batches[-1]
            mark = Mark(len(last), self._where, {_RECEIVED: taken[-1].number})
            batches[-1] = last.but(marks=(mark,))
        return batches

    def commit(self, partition: Position, offset: Position) -> None:
        """Acknowledge what Kafka has."""
        done = offset[_RECEIVED]
        assert isinstance(done, int)
        while self._unacknowledged and self._unacknowledged[0].number <= done:
            assert self._subscriber is not None
            self._subscriber.acknowledge(self._unacknowledged.popleft())

    def close(self) -> None:
        """Leave the server."""
        if getattr(self, "_subscriber", None) is not None:
            assert self._subscriber is not None
            self._subscriber.close()

    def _connected(self) -> Subscriber:
        if self._subscriber is None:
            with needed_by("the MQTT source"):
                from headrace.pipelines.connect.connectors.mqtt.session import Subscriber
            made = Subscriber(self._access, [each.filter for each in self._routes], self._quality)
            try:
                made.connect()
            except BaseException:
                self.context.wait(_RETRY_S)
                raise
            self._subscriber = made
        return self._subscriber

    def _records(self, message: Message) -> list[Record]:
        """One for each statement that the message's topic matches."""
        made = []
        for route in self._routes:
            if not matches(route.filter, message.topic):
                continue
            try:
                made.append(_record(route, message))
            except (ValueError, DataException) as fault:
                told = f"a message of {message.topic} cannot be converted: {fault}"
                if self._throws:
                    raise DataException(told) from fault
                _LOG.warning("%s; it is dropped", told)
        return made


def _record(route: Route, message: Message) -> Record:
    schema: Schema | None = None
    value: object
    if route.converter == "json":
        value = json.loads(message.payload)
    elif route.converter == "string":
        schema, value = schemas.STRING, message.payload.decode()
    else:
        schema, value = schemas.BYTES, message.payload
    key = key_text(None, value, route.keys) if route.keys else message.topic
    return Record(route.topic, value, schema, key, schemas.STRING)


_LENSES: Final = "io.lenses.streamreactor.connect.mqtt.source.MqttSourceConnector"


@source(
    "com.datamountaineer.streamreactor.connect.mqtt.source.MqttSourceConnector",
    version="8.1.0",
    settings=SourceSettings,
    aliases=(_LENSES, "MqttSourceConnector", "MqttSource"),
)
class MqttSource(_MqttSource):
    """Under Lenses' names."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """The statements, dealt to the tasks."""
        assert isinstance(settings, SourceSettings)
        settings.access("")
        texts = [route.statement for route in settings.routes()]
        tasks = min(most, len(texts))
        return [{KCQL: ";".join(texts[number::tasks])} for number in range(tasks)]


@source(
    "io.confluent.connect.mqtt.MqttSourceConnector",
    version="1.7.4",
    settings=ConfluentSettings,
)
class ConfluentMqttSource(_MqttSource):
    """Under Confluent's names."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """The filters, dealt to the tasks."""
        assert isinstance(settings, ConfluentSettings)
        settings.access("")
        settings.routes()
        tasks = min(most, len(settings.filters))
        return [{"mqtt.topics": ",".join(settings.filters[n::tasks])} for n in range(tasks)]
