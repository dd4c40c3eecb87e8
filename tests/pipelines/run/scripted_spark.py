"""Queries that live by a script instead of a JVM: enough of Spark's shape for the supervisor.

Time passes only when the supervisor sleeps; what the script has planned for that time then happens.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from headrace.pipelines.run.supervisor import World

_numbers = itertools.count()


class Progress:
    """As Spark hands it over: an object with its JSON text."""

    def __init__(self, batch_id: int, rows: int, timestamp: str) -> None:
        self.json = json.dumps(
            {
                "batchId": batch_id,
                "timestamp": timestamp,
                "numInputRows": rows,
                "durationMs": {"triggerExecution": 5},
                "sources": [],
            }
        )


class Query:
    def __init__(self, name: str | None) -> None:
        self.name = name
        self.id = f"id-{next(_numbers)}"
        self.isActive = True
        self.status: dict[str, Any] = {"isTriggerActive": False, "isDataAvailable": True}
        self.recentProgress: list[Progress] = []
        self.stops = 0
        self._error: BaseException | None = None

    @property
    def lastProgress(self) -> Progress | None:  # noqa: N802
        return self.recentProgress[-1] if self.recentProgress else None

    def exception(self) -> BaseException | None:
        return self._error

    def stop(self) -> None:
        self.stops += 1
        self.isActive = False

    def finish_batch(self, rows: int = 1) -> None:
        number = len(self.recentProgress)
        self.recentProgress.append(Progress(number, rows, f"2026-01-01T00:00:00.{number:03}Z"))

    def fail(self, error: BaseException) -> None:
        self._error = error
        self.isActive = False

    def end(self) -> None:
        self.isActive = False


class Session:
    """What the supervisor asks a session for."""

    def __init__(self) -> None:
        self.queries: list[Query] = []
        self.cancelled = 0
        self.streams = self
        self.sparkContext = SimpleNamespace(cancelAllJobs=self._cancel)

    @property
    def active(self) -> list[Query]:
        return [query for query in self.queries if query.isActive]

    def start(self, name: str | None) -> Query:
        query = Query(name)
        self.queries.append(query)
        return query

    def _cancel(self) -> None:
        self.cancelled += 1


class Writer:
    """As Spark Connect's: its options are in a message."""

    def __init__(self, session: Session, name: str = "", **options: str) -> None:
        self._session = session
        self._write_proto = SimpleNamespace(query_name=name, options=options)
        self.triggers: dict[str, Any] = {}

    def queryName(self, name: str) -> Writer:  # noqa: N802
        self._write_proto.query_name = name
        return self

    def trigger(self, **arguments: Any) -> Writer:
        self.triggers = arguments
        return self

    def start(self) -> Query:
        return self._session.start(self._write_proto.query_name or None)


class Script:
    """The clock, and what is to happen when: `script.at(3.0, query.end)`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stop = False
        self.sleeps: list[float] = []
        self._plan: list[tuple[float, int, Callable[[], Any]]] = []

    def at(self, second: float, action: Callable[[], Any]) -> None:
        self._plan.append((second, next(_numbers), action))
        self._plan.sort()

    def request_stop(self) -> None:
        self.stop = True

    def sleep(self, seconds: float) -> None:
        assert self.now < 10_000, "the supervisor waits for ever"
        self.sleeps.append(seconds)
        self.now += seconds
        while self._plan and self._plan[0][0] <= self.now:
            self._plan.pop(0)[2]()

    @property
    def world(self) -> World:
        return World(lambda: self.stop, self.sleep, lambda: self.now, lambda: 1.0, lambda: None)
