"""The few requests that the measurements make themselves, on bare sockets.

They are written out here, and do not use `headrace.wire`, for two reasons: the probe must be the
cheapest client possible, so that the broker is the limit; and a mistake in our own codec must not
be able to hide in the tool that judges it. Versions are the oldest without flexible fields that
Apache Kafka 4 still serves.

    API        VERSION   USED FOR
    Produce    7         one record, the same frame sent again and again
    Fetch      4         is the last record readable?
    Metadata   4         is the broker up, are all leaders known?
    DescribeGroups 0     very many names in one request
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

import cramjam
from crc32c import crc32c

from benchmarks.errors import BenchmarkError

Address = tuple[str, int]
Question = Callable[[], bool]

_PRODUCE, _FETCH, _METADATA, _DESCRIBE_GROUPS = 0, 1, 3, 15
_ZSTD = 4
_POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Metadata:
    brokers: int
    controller: int
    leaders: dict[str, bool]
    """Topic → do all of its partitions have a leader?"""
    leader_ids: dict[str, tuple[int, ...]]
    """Topic → who leads its partitions, -1 where nobody does."""


class Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 4  # after the correlation id

    def take(self, layout: str) -> int:
        (value,) = struct.unpack_from(">" + layout, self._data, self._at)
        self._at += struct.calcsize(">" + layout)
        return int(value)

    def raw(self, size: int) -> bytes:
        self._at += max(size, 0)
        return self._data[self._at - max(size, 0) : self._at]

    def string(self) -> str:
        return self.raw(self.take("h")).decode()


def connect(address: Address, timeout_s: float = 30) -> socket.socket:
    sock = socket.create_connection(address, timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_frame(sock: socket.socket) -> bytes:
    """One answer without its length prefix; nothing may follow it on the connection."""
    data = sock.recv(1 << 16)
    while data and (len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big")):
        chunk = sock.recv(1 << 16)
        if not chunk:
            break
        data += chunk
    if len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        raise ConnectionError("the broker closed the connection")
    return data[4:]


def metadata(address: Address, *, all_topics: bool, timeout_s: float = 30) -> Metadata:
    body = struct.pack(">iB", -1 if all_topics else 0, 0)
    reader = _call(address, _METADATA, 4, body, timeout_s)
    reader.take("i")  # throttle time
    brokers = reader.take("i")
    for _ in range(brokers):
        (
            reader.take("i"),
            reader.string(),
            reader.take("i"),
            reader.string(),
        )  # node, host, port, rack
    reader.string()  # cluster id
    controller = reader.take("i")
    leaders, leader_ids = {}, {}
    for _ in range(reader.take("i")):
        error, name, _internal = reader.take("h"), reader.string(), reader.take("B")
        led_by = tuple(_leader(reader) for _ in range(reader.take("i")))
        leaders[name] = error == 0 and bool(led_by) and min(led_by) >= 0
        leader_ids[name] = led_by
    return Metadata(brokers, controller, leaders, leader_ids)


def _leader(reader: Reader) -> int:
    error, _index, leader = reader.take("h"), reader.take("i"), reader.take("i")
    for _ in ("replicas", "in-sync replicas"):
        reader.raw(4 * reader.take("i"))
    return leader if error == 0 else -1


def metadata_frame(topic: str) -> bytes:
    """A whole Metadata request for one topic."""
    return request(_METADATA, 4, struct.pack(">i", 1) + string(topic) + struct.pack(">B", 0))


def _fetch_body(topic: str, partition: int, offset: int) -> bytes:
    body = struct.pack(">iiiib", -1, 100, 1, 1 << 20, 0) + struct.pack(">i", 1) + string(topic)
    return body + struct.pack(">iiqi", 1, partition, offset, 1 << 20)


def fetch_frame(topic: str, partition: int, offset: int) -> bytes:
    """A whole Fetch request of one partition that waits at most 100 ms for a first byte."""
    return request(_FETCH, 4, _fetch_body(topic, partition, offset))


def can_fetch(address: Address, topic: str, partition: int, offset: int) -> bool:
    """Does a fetch at this offset bring a batch that holds it?"""
    reader = _call(address, _FETCH, 4, _fetch_body(topic, partition, offset))
    reader.take("i"), reader.take("i"), reader.string(), reader.take("i"), reader.take("i")
    error = reader.take("h")
    reader.take("q"), reader.take("q")  # high watermark, last stable offset
    reader.raw(16 * max(reader.take("i"), 0))  # aborted transactions
    records = reader.raw(reader.take("i"))
    if error or len(records) < 61:
        return False
    (base_offset,) = struct.unpack_from(">q", records)
    (last_offset_delta,) = struct.unpack_from(">i", records, 23)
    return bool(base_offset <= offset <= base_offset + last_offset_delta)


def wait_until(
    question: Question, *, alive: Callable[[], None], timeout_s: float, what: str
) -> None:
    """Ask until the answer is yes. `alive` raises when waiting has become pointless."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            if question():
                return
        except (OSError, ConnectionError, struct.error):
            pass  # not listening yet, or closing the connection while it starts
        alive()
        time.sleep(_POLL_SECONDS)
    raise BenchmarkError(f"no {what} within {timeout_s:g} s")


def produce_frame(topic: str, partition: int, value: bytes, acks: int) -> bytes:
    """A whole Produce request with one record, to be sent again and again unchanged."""
    return _produce(topic, partition, 0, _record(value), acks)


def bomb_frame(topic: str, partition: int, size: int) -> bytes:
    """A small Produce request whose one record has `size` bytes when it is decompressed."""
    payload = bytes(cramjam.zstd.compress(_record(bytes(size)), level=1))
    return _produce(topic, partition, _ZSTD, payload, acks=1)


def describe_groups_frame(count: int) -> bytes:
    """A DescribeGroups request for so many groups that do not exist."""
    names = b"".join(string(f"{number:x}") for number in range(count))
    return request(_DESCRIBE_GROUPS, 0, struct.pack(">i", count) + names)


def _record(value: bytes) -> bytes:
    record = b"\0" + b"".join(map(_varint, (0, 0, -1, len(value)))) + value + _varint(0)
    return _varint(len(record)) + record


def _produce(topic: str, partition: int, attributes: int, records: bytes, acks: int) -> bytes:
    now_ms = int(time.time() * 1000)
    checked = struct.pack(">hiqqqhii", attributes, 0, now_ms, now_ms, -1, -1, -1, 1) + records
    batch = struct.pack(">iBI", -1, 2, crc32c(checked)) + checked
    batch = struct.pack(">qi", 0, len(batch)) + batch
    body = struct.pack(">hhii", -1, acks, 30_000, 1) + string(topic)
    return request(_PRODUCE, 7, body + struct.pack(">iii", 1, partition, len(batch)) + batch)


def produce_error_at(topic: str) -> slice:
    """Where the error code stands in the answer to `produce_frame`."""
    # correlation id, array of topics, name, array of partitions, partition index
    start = 4 + 4 + 2 + len(topic.encode()) + 4 + 4
    return slice(start, start + 2)


def _call(
    address: Address, api_key: int, version: int, body: bytes, timeout_s: float = 30
) -> Reader:
    with connect(address, timeout_s) as sock:
        sock.sendall(request(api_key, version, body))
        return Reader(read_frame(sock))


def request(api_key: int, version: int, body: bytes) -> bytes:
    frame = struct.pack(">hhi", api_key, version, 1) + string("benchmark") + body
    return struct.pack(">i", len(frame)) + frame


def string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def _varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
