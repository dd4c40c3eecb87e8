"""A partition as it lies on the disks of several brokers, batch by batch.

The batches are cut here by their two length fields alone and not by `headrace.records`: a mistake
in our own reader must not be able to hide a difference between two replicas.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headrace.errors import Error
from headrace.testing import Cluster
from tests.clients.raw import Connection
from tests.clients.requests import LATEST, metadata_request, offset_at

_LENGTH_END = 12
_LAST_OFFSET_DELTA_AT = 23
METADATA_VERSION = 12
PATIENCE_SECONDS = 30


def batches_in(folder: Path) -> Iterator[tuple[int, bytes]]:
    """The offset after each batch and the batch, in the order of the segments' names."""
    for segment in sorted(folder.glob("*.log")):
        data = segment.read_bytes()
        at = 0
        while at + _LAST_OFFSET_DELTA_AT + 4 <= len(data):
            base_offset, length = struct.unpack_from(">qi", data, at)
            (last_delta,) = struct.unpack_from(">i", data, at + _LAST_OFFSET_DELTA_AT)
            if at == 0:
                assert base_offset == int(segment.stem), f"{segment.name} begins at {base_offset}"
            size = _LENGTH_END + length
            yield base_offset + last_delta + 1, data[at : at + size]
            at += size
        assert at == len(data), f"{segment.name} ends with half a batch"


def below(folder: Path, high_watermark: int) -> list[bytes]:
    """The batches whose records are all committed."""
    return [batch for next_offset, batch in batches_in(folder) if next_offset <= high_watermark]


def folders(cluster: Cluster, topic: str) -> list[Path]:
    return [broker.log_dir / f"{topic}-0" for broker in cluster.brokers]


def leader_of(cluster: Cluster, topic: str) -> int:
    """The leader of partition 0, as soon as there is one."""
    return await_state(cluster, topic, lambda leader, isr: leader >= 0)


def await_in_sync(cluster: Cluster, topic: str, replicas: int) -> int:
    """Until so many replicas are in sync; the answer is the leader."""
    return await_state(cluster, topic, lambda leader, isr: leader >= 0 and isr == replicas)


def await_state(cluster: Cluster, topic: str, wanted: Callable[[int, int], bool]) -> int:
    """Until the leader and the size of the ISR are as wanted; the answer is the leader."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    state: tuple[int, int] | None = None
    while time.monotonic() < deadline:
        for broker in cluster.brokers:
            if broker.running:
                state = _state(broker.bootstrap_servers, topic)
                # Only the leader's own word counts: others may know of it before it does.
                if state is not None and state[0] == broker.id and wanted(*state):
                    return state[0]
        time.sleep(0.05)
    raise AssertionError(f"{topic} is still (leader, size of ISR) {state}")


def _state(bootstrap: str, topic: str) -> tuple[int, int] | None:
    try:
        with Connection(bootstrap) as connection:
            (found,) = connection.ask(metadata_request(topic), METADATA_VERSION).topics
    except OSError:
        return None
    if found.error_code != Error.NONE:
        return None
    (partition,) = found.partitions
    return partition.leader_id, len(partition.isr_nodes)


def high_watermark(connection: Connection, topic: str) -> int:
    """As the leader gives it; a new one waits until its own followers have told it (KIP-207)."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    found = offset_at(connection, topic, LATEST)
    while found.error_code == Error.OFFSET_NOT_AVAILABLE and time.monotonic() < deadline:
        time.sleep(0.02)
        found = offset_at(connection, topic, LATEST)
    assert found.error_code == Error.NONE, Error(found.error_code).name
    return int(found.offset)
