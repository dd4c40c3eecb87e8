"""Connectors that do what no connector should, for tests of the host that survives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from headrace.connect import Batch, Config, SinkTask, SourceTask, sink, source
from headrace.pipelines.connect.tasks import Offsets, Partition


class Panic(BaseException):
    """What a library in Rust raises when it panics: no `Exception`."""


class AwkwardSettings(Config):
    topic: str = Config.key("topic", default="")
    folder: str = Config.key("folder", default="")
    does: str = Config.key("does", default="")


@source("tests.Awkward", settings=AwkwardSettings)
class Awkward(SourceTask):
    """`does` says what: `panic`, `exit`, `mumble` (a message that UTF-8 has no bytes for), or
    `deaf`: it does not hear that it shall stop until somebody writes to the pipe `free`."""

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, AwkwardSettings)
        self._settings = settings

    def poll(self) -> Iterator[Batch]:
        match self._settings.does:
            case "panic":
                raise Panic("called `Option::unwrap()` on a `None` value")
            case "exit":
                raise SystemExit(3)
            case "mumble":
                raise RuntimeError("no such file: \udcff")
        yield Batch.of_rows(
            ["0"], topic=self._settings.topic, partition={"source": "numbers"}, offset={"next": 1}
        )
        Path(self._settings.folder, "free").read_bytes()

    def close(self) -> None:
        if self._settings.does == "deaf":
            Path(self._settings.folder, "closed").write_bytes(b"closed")


class FussySettings(Config):
    file: str = Config.key("file")
    refuse: str = Config.key("refuse")


@sink("tests.Fussy", settings=FussySettings)
class Fussy(SinkTask):
    """Cannot flush while there is a file `refuse`."""

    def open(self, settings: Config) -> None:
        assert isinstance(settings, FussySettings)
        self._settings = settings

    def put(self, batch: Batch) -> None:
        with Path(self._settings.file).open("a") as file:
            file.writelines(f"{record.value}\n" for record in batch.records())

    def flush(self, offsets: Mapping[Partition, int]) -> None:
        if Path(self._settings.refuse).exists():
            raise RuntimeError("the target is full")
