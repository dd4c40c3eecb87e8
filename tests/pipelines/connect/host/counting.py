"""A source of numbers for tests of hosts.

Each batch has the numbers after the last one, and says so in its offset. `folder` gets a character
for each poll (`polls`) and the number of the process (`<connector>.pid`); a file `fail` in it has
the number of polls that shall fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from headrace.connect import Batch, Config, SourceTask, source
from headrace.pipelines.connect.tasks import Offsets


class CountingSettings(Config):
    topic: str = Config.key("topic")
    folder: str = Config.key("folder")
    upto: int = Config.key("upto", default=100)
    rows: int = Config.key("rows", default=10)
    batches: int = Config.key("batches", default=1)
    commits: int = Config.key("commits", default=0)
    aborts: int = Config.key("aborts", default=-1)


@source("tests.Counting", settings=CountingSettings, exactly_once=True, own_boundaries=True)
class Counting(SourceTask):
    """`commits` is after how many batches it ends a transaction, `aborts` the batch at whose end
    it aborts one."""

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, CountingSettings)
        self._settings = settings
        Path(settings.folder, f"{self.context.connector}.pid").write_text(str(os.getpid()))
        self._next = int(str((offsets({"source": "numbers"}) or {"next": 0})["next"]))

    def poll(self) -> Iterator[Batch]:
        with Path(self._settings.folder, "polls").open("a") as polls:
            polls.write(".")
        self._fail()
        for _ in range(self._settings.batches):
            if self._next >= self._settings.upto:
                self.context.wait(0.05)
                return
            numbers = range(self._next, min(self._next + self._settings.rows, self._settings.upto))
            self._next = numbers.stop
            self._say_where_it_ends(numbers.start // self._settings.rows)
            yield Batch.of_rows(
                [str(number) for number in numbers],
                topic=self._settings.topic,
                partition={"source": "numbers"},
                offset={"next": self._next},
            )

    def _say_where_it_ends(self, batch: int) -> None:
        if self.transaction is None:
            return
        if batch == self._settings.aborts:
            self.transaction.abort()
        elif self._settings.commits and (batch + 1) % self._settings.commits == 0:
            self.transaction.commit()

    def _fail(self) -> None:
        path = Path(self._settings.folder, "fail")
        left = int(path.read_text()) if path.exists() else 0
        if left:
            path.write_text(str(left - 1))
            raise RuntimeError(f"{left} failures to come")
