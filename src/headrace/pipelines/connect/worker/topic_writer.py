"""Records into a topic of the cluster's state, each where every producer of Kafka puts its key.

With a transactional id the records of a write are one transaction, and the newest writer of that
id has shut out those before it: `Fenced` says that this one was.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused
from headrace.client.producing import RawProducer, RecordsPayload
from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.connect.state.records import Write
from headrace.records.builder import encode_record
from headrace.records.compression import Codec
from headrace.runtime.clock import Clock

_BATCH_BYTES: Final = 512 << 10
_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_INT32: Final = 0xFFFFFFFF


class TopicWriter:
    """For any number of threads: a write follows the one before it."""

    def __init__(
        self,
        settings: ClientSettings,
        topic: str,
        clock: Clock,
        transactional_id: str | None = None,
    ) -> None:
        self.topic = topic
        self._clock = clock
        self._transactional_id = transactional_id
        self._cluster = Cluster(settings)
        self._producer = self._made()
        self._lock = threading.Lock()
        self._has_failed = False

    def write(self, writes: Sequence[Write]) -> None:
        """Return when the brokers have all of them."""
        with self._lock:
            try:
                self._send(writes)
            except HeadraceError as fault:
                self._has_failed = True
                if isinstance(fault, BrokerRefused):
                    # Who reads what is committed waits for the end of what was begun.
                    self._producer.close()
                raise

    def claim(self) -> None:
        """Shut out those who had the transactional id before, without a record."""
        with self._lock:
            self._producer.begin()
            self._producer.commit()

    def close(self) -> None:
        """Let the connections go."""
        with self._lock:
            self._producer.close()
            self._cluster.close()

    def _made(self) -> RawProducer:
        return RawProducer(self._cluster, transactional_id=self._transactional_id)

    def _send(self, writes: Sequence[Write]) -> None:
        if self._has_failed:
            self._producer.close()
            self._producer = self._made()
            self._has_failed = False
        if self._transactional_id is not None:
            self._producer.begin()
        count = len(self._cluster.topic(self.topic).partitions)
        by_partition: defaultdict[int, list[Write]] = defaultdict(list)
        for key, value in writes:
            by_partition[partition_of(key, count)].append((key, value))
        now_ms = self._clock.now_ms()
        for partition, some in by_partition.items():
            for batch in _batches(some):
                encoded = b"".join(
                    encode_record(number, 0, *each) for number, each in enumerate(batch)
                )
                payload = RecordsPayload(encoded, Codec.NONE, len(batch), now_ms, now_ms)
                self._producer.send(self.topic, partition, payload)
        if self._transactional_id is not None:
            self._producer.commit()
        else:
            self._producer.flush()


def _batches(writes: Sequence[Write]) -> Iterator[Sequence[Write]]:
    """Portions that every broker takes, in their order; usually one."""
    begin = size = 0
    for number, (key, value) in enumerate(writes):
        size += len(key) + len(value or b"")
        if size > _BATCH_BYTES and number > begin:
            yield writes[begin:number]
            begin, size = number, len(key) + len(value or b"")
    yield writes[begin:]


def partition_of(key: bytes, count: int) -> int:
    """The partition of a key, by Kafka's murmur2.

    That of `columns` is compiled: a worker without tasks loads neither numba nor Arrow.
    """
    if count == 1:
        return 0
    size = len(key)
    mixed = (_SEED ^ size) & _INT32
    whole = size & ~3
    for at in range(0, whole, 4):
        part = int.from_bytes(key[at : at + 4], "little") * _FACTOR & _INT32
        part = (part ^ part >> 24) * _FACTOR & _INT32
        mixed = mixed * _FACTOR & _INT32 ^ part
    if whole < size:
        mixed = (mixed ^ int.from_bytes(key[whole:], "little")) * _FACTOR & _INT32
    mixed = (mixed ^ mixed >> 13) * _FACTOR & _INT32
    mixed ^= mixed >> 15
    return (mixed & 0x7FFFFFFF) % count
