"""One partition on a disk: segments, indexes, recovery, producers, epochs, retention, compaction.

`PartitionLog` is the face of one partition, `LogDirectory` that of all partitions of a disk. The
files are Kafka's, byte for byte, and are described in docs/formats/.
"""

from __future__ import annotations

from headrace.log.append import Appended
from headrace.log.config import LogConfig
from headrace.log.flush import Flush
from headrace.log.log import PartitionLog
from headrace.log.origin import Origin
from headrace.log.read import LogSlice
from headrace.log.time_index import TimestampOffset
from headrace.log.txn_index import AbortedTransaction

__all__ = [
    "AbortedTransaction",
    "Appended",
    "Flush",
    "LogConfig",
    "LogSlice",
    "Origin",
    "PartitionLog",
    "TimestampOffset",
]
