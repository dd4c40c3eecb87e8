"""The Redis source: entries of streams, whose ids are the positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.redis.settings import StreamSettings
from headrace.pipelines.connect.faults import ConfigException, RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.redis.server import RedisServer

_STREAMS: Final = "redis.stream.name"
_WAIT_MS: Final = 500
_RETRY_S: Final = 1.0
_VALUE: Final = schemas.struct(
    {
        "id": schemas.STRING,
        "stream": schemas.STRING,
        "body": schemas.map_of(schemas.STRING, schemas.STRING),
    }
)


@source(
    "com.redis.kafka.connect.RedisStreamSourceConnector",
    version="0.9.1",
    settings=StreamSettings,
    aliases=("RedisStreamSourceConnector", "RedisStreamSource", "RedisSource"),
)
class RedisStreamSource(SourceTask):
    """A task with some of the connector's streams."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """The streams, dealt to the tasks."""
        assert isinstance(settings, StreamSettings)
        settings.access()
        streams = settings.streams
        if not streams:
            raise ConfigException.of(_STREAMS, "", "the name of a stream is expected")
        tasks = min(most, len(streams))
        return [{_STREAMS: ",".join(streams[number::tasks])} for number in range(tasks)]

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, StreamSettings)
        with needed_by("the Redis source"):
            from headrace.pipelines.connect.connectors.redis.server import RedisServer
        self._settings = settings
        self._server: RedisServer = RedisServer(settings.access())
        self._wait_ms = min(_WAIT_MS, max(1, settings.timeout_ms // 2))
        self._after: dict[str, str] = {}
        for stream in settings.streams:
            kept = offsets({"stream": stream}) or {}
            self._after[stream] = str(kept.get("id", settings.start))

    def poll(self) -> Iterator[Batch]:
        try:
            for stream, after in self._after.items():
                if after == "$":  # what it stands for now, so that nothing between reads is lost
                    self._after[stream] = self._server.last_id(stream)
            found = self._server.read(self._after, self._settings.rows, self._wait_ms)
        except RetriableException:
            self.context.wait(_RETRY_S)
            raise
        for stream, entries in found.items():
            last = entries[-1][0]
            self._after[stream] = last
            yield Batch.of_rows(
                [{"id": name, "stream": stream, "body": dict(body)} for name, body in entries],
                topic=self._settings.topic.replace("${stream}", stream),
                partition={"stream": stream},
                offset={"id": last},
                schema=_VALUE,
                keys=[name for name, _ in entries],
                key_schema=schemas.STRING,
            )

    def close(self) -> None:
        """Let go of the connections."""
        if hasattr(self, "_server"):
            self._server.close()
