"""From the bytes of messages to what is written, and when each message happened.

`MessageDecoder` is what a decoder of your own derives from:

    class Prices(MessageDecoder):
        def decode(self, message):
            return Wrapped(message.value.upper(), message.timestamp)

A record is bytes or text for files of lines, a dict for files of Avro or Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from headrace.errors import ConfigError, HeadraceError
from headrace.pipelines.lake.camus import settings as keys
from headrace.pipelines.lake.camus.timestamps import (
    DEFAULT_FIELD,
    DEFAULT_FORMAT,
    TimestampFormat,
    field_of,
)
from headrace.pipelines.lake.jobs.named import find

_DECODERS: Final = "headrace.pipelines.lake.camus.decoders:"
BUILT_IN: Final = {
    "StringMessageDecoder": _DECODERS + "StringMessageDecoder",
    "JsonStringMessageDecoder": _DECODERS + "JsonStringMessageDecoder",
    "KafkaAvroMessageDecoder": "headrace.pipelines.lake.camus.avro:KafkaAvroMessageDecoder",
    "LatestSchemaKafkaAvroMessageDecoder": (
        "headrace.pipelines.lake.camus.avro:KafkaAvroMessageDecoder"
    ),
}
GROUP: Final = "headrace.camus"


class Message(NamedTuple):
    """A message as it was read. The timestamp is that of Kafka, in milliseconds."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int


class Wrapped(NamedTuple):
    """A decoded record, and when it happened in milliseconds."""

    record: object
    timestamp: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of a batch. Null values are not written; reasons in `bad` go to the error file."""

    values: pa.Array
    times: pa.Int64Array
    bad: Mapping[int, str]
    avro: str | None = None


class MessageDecoder:
    """Made once for each unit of work, with the settings of the job and the name of the topic."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        self.properties = properties
        self.topic = topic

    def decode(self, message: Message) -> Wrapped:
        """One message; any exception is reported as the reason for which it is skipped."""
        raise NotImplementedError(f"{type(self).__name__} decodes no message: define decode")

    def decode_rows(self, rows: pa.RecordBatch) -> Decoded:
        """A batch of messages, with the columns of the source."""
        values: list[object] = []
        times: list[int] = []
        bad: dict[int, str] = {}
        for number, message in enumerate(messages_of(rows)):
            try:
                record, time = self.decode(message)
            except Exception as fault:  # whatever it is, it is about this message
                bad[number] = f"{type(fault).__name__}: {fault}"
                record, time = None, message.timestamp
            values.append(record)
            times.append(time)
        try:
            made = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError) as fault:
            raise HeadraceError(
                f"the records that {type(self).__name__} gives for {self.topic} do not fit one "
                f"column ({fault}): give records of one shape"
            ) from fault
        return Decoded(made, pa.array(times, pa.int64()), bad)


class StringMessageDecoder(MessageDecoder):
    """Bytes as they are, at the time of Kafka's timestamp."""

    def decode_rows(self, rows: pa.RecordBatch) -> Decoded:
        values = rows.column("value")
        return Decoded(values, milliseconds(rows), {})


class JsonStringMessageDecoder(MessageDecoder):
    """JSON objects, kept as the text that they are, at the time that a field of theirs says."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        super().__init__(properties, topic)
        self._path = (properties.get(keys.TIMESTAMP_FIELD) or DEFAULT_FIELD).split(".")
        self._format = TimestampFormat(properties.get(keys.TIMESTAMP_FORMAT) or DEFAULT_FORMAT)
        # The field alone is built; everything else is checked and passed over.
        head = msgspec.defstruct("Head", [("found", object, None)], rename=lambda _: self._path[0])
        self._decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(head)

    def decode_rows(self, rows: pa.RecordBatch) -> Decoded:
        values = rows.column("value")
        times = milliseconds(rows).to_pylist()
        bad: dict[int, str] = {}
        for number, value in enumerate(values.to_pylist()):
            if value is None:
                continue
            try:
                told = field_of(getattr(self._decoder.decode(value), "found", None), self._path[1:])
            except (msgspec.DecodeError, UnicodeDecodeError) as fault:
                bad[number] = f"not a JSON object: {fault}"
                continue
            moment = self._format.epoch_ms(told)
            if moment is not None:
                times[number] = moment
        return Decoded(values, pa.array(times, pa.int64()), bad)


def decoder_named(name: str, properties: Mapping[str, str], topic: str) -> MessageDecoder:
    """The decoder that a setting names, ready for the messages of a topic."""
    made = find(name, keys.DECODER, BUILT_IN, GROUP)(properties, topic)
    if not isinstance(made, MessageDecoder):
        raise ConfigError(
            f"{keys.DECODER}={name}: {type(made).__name__} is not a decoder; derive it from "
            "headrace.pipelines.lake.camus.decoders.MessageDecoder"
        )
    return made


def messages_of(rows: pa.RecordBatch) -> Iterator[Message]:
    """The rows one by one."""
    columns = (rows.column(name).to_pylist() for name in ("topic", "partition", "offset"))
    pairs = (rows.column(name).to_pylist() for name in ("key", "value"))
    times = milliseconds(rows).to_pylist()
    return (Message(*row) for row in zip(*columns, *pairs, times, strict=True))


def milliseconds(rows: pa.RecordBatch) -> pa.Int64Array:
    """The timestamps of messages."""
    micros = rows.column("timestamp").cast(pa.int64()).to_numpy(zero_copy_only=False)
    return pa.array(np.floor_divide(micros, 1000), pa.int64())
