"""The classes that come with the house, by the names that Gobblin's jobs give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headrace.errors import ConfigError
from headrace.pipelines.lake.formats.format import Format
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.gobblin.stages import Counts, Settings
from headrace.pipelines.lake.jobs.named import find

GROUP: Final = "headrace.gobblin"
_LAKE: Final = "headrace.pipelines.lake.gobblin."
_HERE: Final = _LAKE + "plugins:"
SOURCES: Final = {
    "KafkaSimpleSource": _LAKE + "kafka:KafkaSimpleSource",
    "UniversalKafkaSource": _LAKE + "kafka:KafkaSimpleSource",
    "TextFileBasedSource": _LAKE + "text_files:TextFileBasedSource",
}
CONVERTERS: Final = {"BytesToStringConverter": _HERE + "TextConverter"}
ROW_POLICIES: Final = {"NotEmptyPolicy": _HERE + "NotEmptyPolicy"}
TASK_POLICIES: Final = {"RowCountPolicy": _HERE + "RowCountPolicy"}
FORKS: Final = {"IdentityForkOperator": _HERE + "IdentityForkOperator"}
WRITERS: Final = {
    "SimpleDataWriterBuilder": _HERE + "simple_files",
    "GZIPDataWriterBuilder": _HERE + "gzip_files",
    "AvroDataWriterBuilder": _HERE + "avro_files",
    "ParquetDataWriterBuilder": _HERE + "parquet_files",
}
PUBLISHERS: Final = {
    "BaseDataPublisher": _LAKE + "publishing:BaseDataPublisher",
    "TimePartitionedDataPublisher": _LAKE + "publishing:BaseDataPublisher",
}


def named(kinds: Mapping[str, str], name: str, key: str) -> Callable[..., Any]:
    """The class that a setting names."""
    return find(name, key, kinds, GROUP)


class TextConverter:
    """Bytes as text; what is not UTF-8 in them becomes U+FFFD."""

    def __init__(self, settings: Settings) -> None:
        """It has no settings."""

    def convert(self, record: object) -> Sequence[object]:
        return [record.decode(errors="replace") if isinstance(record, bytes) else record]


class NotEmptyPolicy:
    """Records with something in them."""

    def __init__(self, settings: Settings) -> None:
        """It has no settings."""

    def passes(self, record: object) -> bool:
        return bool(record)


class RowCountPolicy:
    """As many records were written, or judged, as were read."""

    def __init__(self, settings: Settings) -> None:
        """It has no settings."""

    def passes(self, counts: Counts) -> bool:
        return counts.written + counts.failed_rows >= counts.converted


class IdentityForkOperator:
    """Every record to every branch."""

    def __init__(self, settings: Settings) -> None:
        self._branches = [True] * int(settings.get("fork.branches") or 1)

    def fork(self, record: object) -> Sequence[bool]:
        return self._branches


def simple_files(settings: Settings) -> Format:
    """Records as they are, with a separator behind each: a line break by default."""
    return _lines(settings, compress=settings.get("writer.codec.type", "").lower() == "gzip")


def gzip_files(settings: Settings) -> Format:
    """The same, compressed."""
    return _lines(settings, compress=True)


def _lines(settings: Settings, *, compress: bool) -> Format:
    extension = (settings.get("writer.output.format") or "txt").lower()
    separator = (settings.get("simple.writer.delimiter") or "\n").encode()
    return LinesFormat(f".{extension}", separator=separator, compress=compress)


def avro_files(settings: Settings) -> Format:
    """Avro's object container files, for records that are dicts."""
    from headrace.pipelines.lake.formats.avro import AvroFormat

    codec = settings.get("writer.codec.type", "null").lower()
    if codec not in ("null", "nocompression", "deflate", "snappy"):
        raise ConfigError(f"writer.codec.type is {codec!r}; deflate or snappy is expected")
    return AvroFormat("null" if codec == "nocompression" else codec)


def parquet_files(settings: Settings) -> Format:
    """Parquet, for records that are dicts."""
    from headrace.pipelines.lake.formats.parquet import ParquetFormat

    return ParquetFormat(settings.get("writer.codec.type", "snappy").lower())
