"""A job of Camus in a folder of a test, and what it has copied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from headrace.pipelines.lake.camus.job import Report, run_job
from headrace.pipelines.lake.camus.settings import read_settings
from headrace.pipelines.lake.jobs.running import Runner, in_threads
from headrace.runtime.clock import SystemClock
from tests.pipelines.source.topics import Topics


class Camus:
    """`camus.properties` as its example has it, with addresses of the test."""

    def __init__(self, topics: Topics, folder: Path, topic: str, **more: str) -> None:
        self.folder = folder
        self.given = {
            "camus.job.name": "Camus Job",
            "etl.destination.path": str(folder / "topics"),
            "etl.execution.base.path": str(folder / "exec"),
            "etl.execution.history.path": str(folder / "exec/history"),
            "camus.message.decoder.class": (
                "com.linkedin.camus.etl.kafka.coders.JsonStringMessageDecoder"
            ),
            "etl.record.writer.provider.class": (
                "com.linkedin.camus.etl.kafka.common.StringRecordWriterProvider"
            ),
            "camus.message.timestamp.field": "at",
            "camus.message.timestamp.format": "unix_milliseconds",
            "mapred.map.tasks": "2",
            "kafka.brokers": topics.bootstrap_servers,
            "kafka.whitelist.topics": topic,
            "etl.default.timezone": "UTC",
            **{name.replace("__", "."): value for name, value in more.items()},
        }

    def run(self, runner: Runner = in_threads, /, **over: str) -> Report:
        given = self.given | {name.replace("__", "."): value for name, value in over.items()}
        return run_job(read_settings(given, "camus.properties"), runner, SystemClock())

    def file(self) -> Path:
        """The settings as a file."""
        path = self.folder / "camus.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in self.given.items()))
        return path

    def files(self) -> dict[str, Path]:
        """Published files, by their paths below the destination."""
        root = self.folder / "topics"
        return {
            str(path.relative_to(root)): path
            for path in sorted(root.rglob("*"))
            if path.is_file() and not path.relative_to(root).parts[0].startswith((".", "+"))
        }

    def lines(self) -> list[bytes]:
        """Every line of every file."""
        return [line for path in self.files().values() for line in path.read_bytes().splitlines()]

    def history(self, name: str) -> list[object]:
        """A document of every run that has ended, oldest first."""
        found = sorted((self.folder / "exec/history").glob(f"*/{name}"))
        return [json.loads(path.read_bytes()) for path in found]


def events(first: int, count: int, at_ms: Callable[[int], int]) -> list[bytes]:
    """JSON objects that are numbered."""
    return [b'{"n":%d,"at":%d}' % (n, at_ms(n)) for n in range(first, first + count)]
