"""A consumer of the REST Proxy's first version, as the course uses it."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Final, Self

from examples.cluster.lab import PATIENCE_S, LabFailed
from examples.labs.staging import http

V1: Final = "application/vnd.kafka.v1+json"
BINARY: Final = "application/vnd.kafka.binary.v1+json"
AVRO: Final = "application/vnd.kafka.avro.v1+json"


class RestConsumer:
    """Lives at the proxy between requests; deleted at the end of the block."""

    def __init__(self, rest: str, group: str, topic: str, form: str = "binary") -> None:
        self._rest = rest
        self._group = group
        self._topic = topic
        self._form = form
        self._base = ""
        self.deleted_with = 0

    def __enter__(self) -> Self:
        options = {
            "format": self._form,
            "auto.offset.reset": "smallest",
            "auto.commit.enable": "false",
        }
        path = f"/consumers/{self._group}"
        status, answer = http("POST", self._rest, path, options, content_type=V1)
        if status != 200:
            raise LabFailed(f"the proxy made no consumer: {answer}")
        self._base = answer["base_uri"].partition(self._rest)[2]
        return self

    def read(self, count: int) -> list[Any]:
        """So many records; the first reads of a group may be empty."""
        accept = f"application/vnd.kafka.{self._form}.v1+json"
        found: list[Any] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < count:
            if time.monotonic() > deadline:
                raise LabFailed(f"only {len(found)} of {count} records came")
            path = f"{self._base}/topics/{self._topic}"
            status, answer = http("GET", self._rest, path, accept=accept)
            if status != 200:
                raise LabFailed(f"the proxy refused to read: {answer}")
            found += answer
        return found

    def commit(self) -> Any:
        """Up to the last record that was returned."""
        status, answer = http("POST", self._rest, f"{self._base}/offsets", {}, content_type=V1)
        if status != 200:
            raise LabFailed(f"the proxy refused to commit: {answer}")
        return answer

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.deleted_with, _ = http("DELETE", self._rest, self._base)
