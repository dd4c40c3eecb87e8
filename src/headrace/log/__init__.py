"""One partition on a disk: segments, indexes, recovery, producers, epochs, retention, compaction.

`PartitionLog` is the face of one partition, `LogDirectory` that of all partitions of a disk. The
files are Kafka's, byte for byte, and are described in docs/formats/.
"""

from __future__ import annotations

from headrace.log.append import Appended, Heavy, Records, inspect
from headrace.log.config import LogConfig
from headrace.log.flush import Flush
from headrace.log.log import PartitionLog
from headrace.log.origin import Origin
from headrace.log.read import LogSlice, Look, first_at, look_for_first
from headrace.log.time_index import TimestampOffset
from headrace.log.txn_index import AbortedTransaction

__all__ = [
    "AbortedTransaction",
    "Appended",
    "Flush",
    "Heavy",
    "LogConfig",
    "LogSlice",
    "Look",
    "Origin",
    "PartitionLog",
    "Records",
    "TimestampOffset",
    "first_at",
    "inspect",
    "look_for_first",
]
