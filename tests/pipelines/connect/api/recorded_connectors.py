"""The connectors of the recordings, as Python has them; see `recorded/java`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.connect import Batch, Config, SinkTask, SourceTask, sink, source
from headrace.pipelines.connect.config.definition import Password, not_empty
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.tasks import Offsets


class Settings(Config):
    """What RecordedSource has set."""

    file: str | None = Config.key("file", default=None, importance="high")
    topic: str = Config.key("topic", importance="high", check=not_empty)
    rows: int = Config.key("batch.size", default=2000, at_least=1, importance="low")
    mode: str = Config.key(
        "mode",
        default="bulk",
        choices=("bulk", "incrementing"),
        group="Reading",
        order=1,
        width="SHORT",
        display_name="Mode",
        dependents=("column",),
        recommend=lambda _: ["bulk", "incrementing"],
    )
    column: str = Config.key(
        "column",
        default="",
        group="Reading",
        order=2,
        width="LONG",
        display_name="Column",
        visible=lambda values: values.get("mode") == "incrementing",
    )
    secret: Password | None = Config.key("secret", default=None, importance="low")
    ratio: float = Config.key("ratio", default=0.5, at_least=0.0, at_most=1.0, importance="low")
    names: list[str] = Config.key("names", default=["a", "b"], importance="low")


@source("RecordedSource", version="1.0", settings=Settings)
class RecordedSource(SourceTask):
    """One line a task, and then nothing."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, Settings)
        if settings.file == "broken":
            raise ConnectException("a broken file")
        return [{"number": str(number)} for number in range(most)]

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, Settings)
        self.settings = settings
        self.done = False

    def poll(self) -> Iterable[Batch]:
        if self.settings.file == "fail":
            raise ConnectException("no such file")
        if self.done:
            self.context.wait(0.1)
            return
        self.done = True
        place = {"number": self.context.task}
        yield Batch.of_rows(
            ["line"], topic=self.settings.topic, partition=place, offset={"position": 7}
        )


@sink("RecordedSink", version="1.0")
class RecordedSink(SinkTask):
    """Takes everything."""

    def put(self, batch: Batch) -> None:
        pass
