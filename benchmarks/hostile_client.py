"""A client that no broker wants: `python -m benchmarks.hostile_client LOAD`.

    KIND       WHAT IT DOES
    metadata   pipelines requests for a large topic, as many as the broker takes; reads every answer
    produce    pipelines one-record produces with acks=0, as many as the broker takes
    unread     as metadata, but never reads
    churn      connects, asks, and closes without an answer, again and again
    items      asks for 60,000 groups in each request; reads every answer
    bombs      writes batches of some kilobytes that hold 100 MB; reads every answer
    partitions creates 10,000 partitions and deletes them, again and again

It says READY when the broker has what it can take, and goes on until it is told to stop. It runs
with the lowest priority: it is meant to occupy the broker, not the machine.
"""

from __future__ import annotations

import itertools
import json
import os
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks import wire

_ITEMS = 60_000
_BOMB_BYTES = 100_000_000
_TOPICS = 5
_PARTITIONS = 2_000  # of each: a controller of Kafka takes 10,000 changes at a time
_BURST_BYTES = 128 * 1024
_SETTLE_S = 1.0
_RESET = struct.pack("ii", 1, 0)  # struct linger: closing sends a reset, no port is left waiting


@dataclass(frozen=True, slots=True)
class HostileLoad:
    """`topic` is described by Metadata, and written to."""

    host: str
    port: int
    kind: str
    topic: str
    connections: int

    def to_argument(self) -> str:
        return json.dumps(asdict(self))


def main() -> None:
    load = HostileLoad(**json.loads(sys.argv[1]))
    os.nice(19)
    stopped = threading.Event()
    # Not waited for: it ends with the process, whatever it waits for itself.
    threading.Thread(target=_attack, args=(load, stopped.is_set), daemon=True).start()
    time.sleep(_SETTLE_S)
    print("READY", flush=True)
    sys.stdin.readline()
    stopped.set()


def _attack(load: HostileLoad, is_over: Callable[[], bool]) -> None:
    if load.kind == "churn":
        _churn(load, is_over)
    elif load.kind == "partitions":
        _create_and_delete(load, is_over)
    else:
        _flood(load, is_over)


def _frame(load: HostileLoad) -> bytes:
    if load.kind == "produce":
        return wire.produce_frame(load.topic, 0, bytes(10), acks=0)
    if load.kind == "items":
        return wire.describe_groups_frame(_ITEMS)
    if load.kind == "bombs":
        return wire.bomb_frame(load.topic, 0, _BOMB_BYTES)
    return wire.metadata_frame(load.topic)


def _flood(load: HostileLoad, is_over: Callable[[], bool]) -> None:
    frame = _frame(load)
    burst = frame * max(1, _BURST_BYTES // len(frame))
    selector = selectors.DefaultSelector()
    reads = selectors.EVENT_READ if load.kind != "unread" else 0
    for _ in range(load.connections):
        sock = wire.connect((load.host, load.port))
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_WRITE | reads, bytearray())
    while not is_over():
        for key, events in selector.select(0.1):
            assert isinstance(key.fileobj, socket.socket)
            if events & selectors.EVENT_READ and not key.fileobj.recv(1 << 20):
                sys.exit("the broker closed the connection")
            if events & selectors.EVENT_WRITE:
                rest = key.data or bytearray(burst)
                del rest[: key.fileobj.send(rest)]
                key.data[:] = rest


def _churn(load: HostileLoad, is_over: Callable[[], bool]) -> None:
    frame = wire.metadata_frame(load.topic)
    while not is_over():
        with socket.create_connection((load.host, load.port)) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            sock.sendall(frame)


def _create_and_delete(load: HostileLoad, is_over: Callable[[], bool]) -> None:
    client = AdminClient({"bootstrap.servers": f"{load.host}:{load.port}"})
    for turn in itertools.count():
        topics = [f"{load.topic}-{turn}-{number}" for number in range(_TOPICS)]
        for topic in topics:
            if is_over():
                return
            client.create_topics([NewTopic(topic, _PARTITIONS)])[topic].result()
        for topic in topics:
            client.delete_topics([topic])[topic].result()


if __name__ == "__main__":
    main()
