"""What the broker did, as numbers. The core and the handlers count; nobody formats here."""

from __future__ import annotations

from collections import Counter


class Reporter:
    """Counters of one broker since its start."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "connections_accepted",
        "connections_refused",
        "errors",
        "frames_refused",
        "requests",
    )

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()  # by API key
        self.errors: Counter[int] = Counter()  # by Kafka error code
        self.bytes_in = 0
        self.bytes_out = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        self.frames_refused = 0
