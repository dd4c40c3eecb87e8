"""FileStreamSink: each value on a line of a file, or of standard output, as Java prints it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.java_text import text_of
from headrace.pipelines.connect.tasks import Partition, SinkTask, sink


class FileSinkSettings(Config):
    """What can be set."""

    file: str | None = Config.key(
        "file",
        default=None,
        doc="Destination filename. If not specified, the standard output will be used",
        importance="high",
    )


@sink(
    "org.apache.kafka.connect.file.FileStreamSinkConnector",
    version="4.3.0",
    settings=FileSinkSettings,
    aliases=("FileStreamSinkConnector", "FileStreamSink"),
)
class FileStreamSink(SinkTask):
    """Appends to one file."""

    def open(self, settings: Config) -> None:
        assert isinstance(settings, FileSinkSettings)
        self._path = settings.file
        if self._path is None:
            self._out: IO[bytes] = sys.stdout.buffer
            return
        try:
            self._out = open(self._path, "ab")  # noqa: SIM115 closed by `close`
        except OSError as fault:
            raise ConnectException(
                f"Couldn't find or create file '{self._path}' for FileStreamSinkTask: {fault}"
            ) from fault

    def put(self, batch: Batch) -> None:
        self._out.write(_lines(batch.value))

    def flush(self, offsets: Mapping[Partition, int]) -> None:
        self._out.flush()

    def close(self) -> None:
        if self._path is not None and hasattr(self, "_out"):
            self._out.close()


def _lines(values: Column) -> bytes | memoryview:
    array = values.arrow
    if array is not None and pa.types.is_string(array.type):
        ended = pc.binary_join_element_wise(
            array, "", "\n", null_handling="replace", null_replacement="null"
        )
        _, ends, data = ended.buffers()
        first, *_, last = memoryview(ends).cast("i")[ended.offset : ended.offset + len(ended) + 1]
        return memoryview(data)[first:last]
    schema = values.schema
    return "".join(f"{text_of(value, schema)}\n" for value in values.to_values()).encode()
