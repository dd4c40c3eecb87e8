"""The logger sink: events as lines for a person who looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.pipelines.lake.flume.components import Surroundings
from headrace.pipelines.lake.flume.event import Event
from headrace.pipelines.lake.jobs.properties import Properties

KNOWN: Final = frozenset({"type", "channel", "maxBytesToLog"})


class LoggerSink:
    """Headers, and the first bytes of the body in hexadecimal and as text."""

    batch_size = 100

    def __init__(self, name: str, settings: Properties, around: Surroundings) -> None:
        self.remarks = settings.remarks(KNOWN)
        self._most = settings.number("maxBytesToLog", 16, at_least=1)
        self._tell = around.tell

    def write(self, events: Sequence[Event]) -> None:
        for event in events:
            shown = event.body[: self._most]
            text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in shown)
            self._tell(
                f"Event: {{ headers:{event.headers} body: {shown.hex(' ').upper()} {text} }}"
            )
            event.receipt.settle()

    def tick(self) -> None:
        """There is nothing to do between events."""

    def close(self) -> None:
        """There is nothing to close."""
