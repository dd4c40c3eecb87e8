"""Avro messages whose schemas are in a registry, read by the latest schema of the topic's subject.

All files of a run therefore have one schema, whatever the messages were written with.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headrace.client.registry.settings import registry_settings
from headrace.errors import ConfigError
from headrace.pipelines.lake.camus import settings as keys
from headrace.pipelines.lake.camus.decoders import Decoded, MessageDecoder, milliseconds
from headrace.pipelines.lake.camus.timestamps import DEFAULT_FIELD, TimestampFormat, field_of
from headrace.pipelines.serdes.modes import Mode
from headrace.pipelines.serdes.registry_clients import client_of
from headrace.pipelines.serdes.registry_decoding import RegistryDecoder
from headrace.pipelines.serdes.registry_formats import AvroPlan
from headrace.schemas.naming import TOPIC_NAME, subject_name


class KafkaAvroMessageDecoder(MessageDecoder):
    """A field says when it happened, if there is such a field: a number of milliseconds, or what
    `camus.message.timestamp.format` says."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        super().__init__(properties, topic)
        if not properties.get(keys.REGISTRY):
            raise ConfigError(
                f"{keys.DECODER} reads Avro, but {keys.REGISTRY} is missing; it is the address of "
                "the Schema Registry, as http://localhost:8081"
            )
        settings = registry_settings(properties)
        client = client_of(settings)
        latest = client.latest(subject_name(TOPIC_NAME, topic, False, None))
        plan = AvroPlan.of(client, latest, {})
        self._avro = plan.text
        self._decoder = RegistryDecoder(settings, plan, Mode.DEAD_LETTER)
        self._path = (properties.get(keys.TIMESTAMP_FIELD) or DEFAULT_FIELD).split(".")
        self._format = TimestampFormat(properties.get(keys.TIMESTAMP_FORMAT) or "unix_milliseconds")

    def decode_rows(self, rows: pa.RecordBatch) -> Decoded:
        decoded = self._decoder.decode(rows.column("value"))
        values, errors = decoded.field("value"), decoded.field("error")
        bad = {number: text for number, text in enumerate(errors.to_pylist()) if text is not None}
        return Decoded(values, self._times(values, rows), bad, self._avro)

    def _times(self, values: pa.Array, rows: pa.RecordBatch) -> pa.Int64Array:
        times = milliseconds(rows)
        kind = values.type
        if not pa.types.is_struct(kind) or kind.get_field_index(self._path[0]) < 0:
            return times
        told = values.field(self._path[0]).to_pylist()
        moments = [self._format.epoch_ms(field_of(value, self._path[1:])) for value in told]
        both = zip(moments, times.to_pylist(), strict=True)
        return pa.array([time if moment is None else moment for moment, time in both], pa.int64())
