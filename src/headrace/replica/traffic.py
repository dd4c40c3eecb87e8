"""What went in and out of the partitions of one topic on this broker, as plain numbers."""

from __future__ import annotations


class TopicTraffic:
    """Counted since the broker's start; all partitions of a topic share one."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "failed_fetch_requests",
        "failed_produce_requests",
        "fetch_requests",
        "messages_in",
        "produce_requests",
        "replication_bytes_in",
        "replication_bytes_out",
    )

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.bytes_rejected = 0
        self.replication_bytes_in = 0
        self.replication_bytes_out = 0
        self.produce_requests = 0
        self.failed_produce_requests = 0
        self.fetch_requests = 0
        self.failed_fetch_requests = 0

    def absorb(self, other: TopicTraffic) -> None:
        """Count what another one has counted, and will not any more."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
