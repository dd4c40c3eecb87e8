"""Which files a job writes: `etl.record.writer.provider.class`.

A provider is called with the settings of the job and gives a format of the lake:

    def upper(properties):
        return LinesFormat(".txt")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO, Final, Protocol

import msgspec
import pyarrow as pa

from headrace.errors import ConfigError
from headrace.pipelines.lake.camus import settings as keys
from headrace.pipelines.lake.formats.format import Format, FormatFile
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.jobs.named import find
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.pipelines.lake.rows import Rows

_HERE: Final = "headrace.pipelines.lake.camus.providers:"
BUILT_IN: Final = {
    "StringRecordWriterProvider": _HERE + "text_files",
    "AvroRecordWriterProvider": _HERE + "avro_files",
    "ParquetRecordWriterProvider": _HERE + "parquet_files",
}
GROUP: Final = "headrace.camus"
DELIMITER: Final = "etl.output.record.delimiter"


class RecordWriterProvider(Protocol):
    """A class or a function."""

    def __call__(self, properties: Mapping[str, str]) -> Format: ...


def format_named(name: str, properties: Mapping[str, str]) -> Format:
    """The files that a setting asks for."""
    provider: RecordWriterProvider = find(name, keys.PROVIDER, BUILT_IN, GROUP)
    return provider(properties)


def text_files(properties: Mapping[str, str]) -> Format:
    """A line for each record, compressed by gzip with mapred.output.compress=true."""
    separator = (properties.get(DELIMITER) or "\n").encode()
    return TextFormat(".txt", separator=separator, compress=_codec(properties) is not None)


def avro_files(properties: Mapping[str, str]) -> Format:
    """Avro's object container files."""
    from headrace.pipelines.lake.formats.avro import AvroFormat

    return AvroFormat(_codec(properties) or "null")


def parquet_files(properties: Mapping[str, str]) -> Format:
    """Parquet, compressed by snappy unless etl.output.codec says gzip."""
    from headrace.pipelines.lake.formats.parquet import ParquetFormat

    return ParquetFormat("gzip" if _codec(properties) == "deflate" else "snappy")


class TextFormat(LinesFormat):
    """Lines, of records as their JSON."""

    def open(self, out: BinaryIO, rows: Rows) -> FormatFile:  # type: ignore[override]
        opened = super().open(out, rows)
        return _JsonLines(opened) if pa.types.is_struct(rows.values.type) else opened


class _JsonLines:
    def __init__(self, lines: FormatFile) -> None:
        self._lines = lines

    def write(self, rows: Rows) -> None:
        texts = [msgspec.json.encode(value) for value in rows.values.to_pylist()]
        self._lines.write(
            Rows(rows.topic, rows.partition, pa.array(texts, pa.binary()), rows.offsets)
        )

    def finish(self) -> None:
        self._lines.finish()

    def abandon(self) -> None:
        self._lines.abandon()


def _codec(properties: Mapping[str, str]) -> str | None:
    read = Properties(properties, "the job")
    codec = read.text(keys.CODEC, "deflate").lower()
    if codec not in ("deflate", "snappy", "gzip"):
        raise ConfigError(f"{keys.CODEC} is {codec!r}; deflate or snappy is expected")
    return codec if read.flag(keys.COMPRESS, False) else None
