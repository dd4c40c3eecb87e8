"""Mutated frames by the ten thousand: the broker lives, its memory is bounded, nobody notices.

Frames are real requests of every served API and version with bytes flipped, cut, repeated and
lengths that lie. `HEADRACE_SEED` repeats a run, `HEADRACE_FRAMES` sets how many are sent: a million
take three minutes.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headrace.broker.handlers import HANDLERS
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.testing import Broker
from headrace.types import ZERO_UUID
from headrace.wire.header import encode_request
from headrace.wire.registry import by_key
from headrace.wire.schema import FieldSpec, fields_of, info
from headrace.wire.types import UUID_KIND, Blob, Text
from tests.robustness.memory import rss_mb

FRAMES = int(os.environ.get("HEADRACE_FRAMES", "20000"))
_PATIENCE_S = 0.2
_WINDOW = 8
_ATTACKERS = 8  # Some frames ask the broker to wait, and hold their connection up.
_FIRST_PROBE = 0x7EADBEE0
_TOPIC = "victim"
_GROWTH_LIMIT_MB = 150
# Requests that make something: mutated, they would only fill the disk with topics.
_MAKERS = {"CreateTopics", "CreatePartitions", "DeleteTopics"}


def sample_requests() -> list[bytes]:
    """One plausible frame of every API and version that the broker serves."""
    frames = []
    for handler in HANDLERS:
        if handler.name in _MAKERS:
            continue
        request_class = by_key(handler.key).request
        for version in info(request_class).versions:
            message = plausible(request_class, version)
            frames.append(b"".join(encode_request(7, "fuzz", version, message)))
    return frames


def plausible(cls: type, version: int) -> Any:
    """An instance with one element in every list and values that mean something."""
    values: dict[str, Any] = {}
    for field in fields_of(cls):
        if field.present(version):
            value = plausible_value(field, version)
            values[field.name] = [value] if field.is_array else value
    return cls(**values)


def plausible_value(field: FieldSpec, version: int) -> Any:
    kind = field.kind
    if isinstance(kind, type):
        return plausible(kind, version)
    if isinstance(kind, Text):
        return _TOPIC
    if isinstance(kind, Blob):
        return memoryview(build_batch([Record(0, 1, b"k", b"v", [])]))
    if kind is UUID_KIND:
        return ZERO_UUID
    if kind.name == "bool":
        return False
    return {"max_bytes": 1000, "partition_max_bytes": 1000, "acks": 1}.get(field.name, 0)


def mutate(rng: random.Random, frame: bytes) -> bytes:
    """A frame that is almost the given one. The size prefix is right more often than not."""
    body = bytearray(frame[4:])
    kind = rng.random()
    if kind < 0.5:
        for _ in range(rng.randint(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
    elif kind < 0.65:
        del body[rng.randrange(1, len(body)) :]
    elif kind < 0.75:
        position = rng.randrange(len(body))
        body[position : position + 4] = struct.pack(">i", rng.choice((-1, -2, 2**31 - 1, 1 << 24)))
    elif kind < 0.85:
        position = rng.randrange(len(body))
        body[position:position] = rng.randbytes(rng.randint(1, 20))
    elif kind < 0.95:
        start, stop = sorted(rng.randrange(len(body) + 1) for _ in range(2))
        body[start:stop] = b""
    else:
        body = bytearray(rng.randbytes(rng.randint(0, 200)))
    size = len(body)
    if rng.random() < 0.02:
        size = rng.choice((0, -1, 2**31 - 1, 1 << 27, size + 3, size - 1))
    return struct.pack(">i", size) + bytes(body)


def mutations(seed: int, samples: list[bytes]) -> Iterator[bytes]:
    rng = random.Random(seed)
    while True:
        yield mutate(rng, rng.choice(samples))


class Neighbour:
    """A well-behaved producer and consumer beside the attack."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.errors: list[str] = []
        self.produced = 0
        self.consumed = 0
        self._stop = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "error_cb": lambda error: self.errors.append(str(error)),
        }
        self._producer = Producer({**settings, "enable.idempotence": True})
        self._consumer = Consumer({**settings, "group.id": "unused", "enable.auto.commit": False})
        self._consumer.assign([TopicPartition("neighbour", 0, 0)])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.005):
            self._producer.produce(
                "neighbour",
                str(self.produced).encode(),
                on_delivery=self._on_delivery,
            )
            self.produced += 1
            self._producer.poll(0)
            message = self._consumer.poll(0)
            if message is not None:
                self._check(message)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))

    def _check(self, message: Any) -> None:
        if message.error() is not None:
            self.errors.append(str(message.error()))
            return
        if int(message.value()) != self.consumed:
            self.errors.append(f"expected record {self.consumed}, got {message.value()!r}")
        self.consumed += 1

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()
        if self._producer.flush(30):
            self.errors.append("records were left in the producer")
        while self.consumed < self.produced and not self.errors:
            message = self._consumer.poll(10)
            if message is None:
                self.errors.append(f"only {self.consumed} of {self.produced} records came back")
                break
            self._check(message)
        self._consumer.close()


def attack(port: int, frames: Iterator[bytes], count: int) -> None:
    """Send frames, each followed by a sound request: its answer, or the end of the connection,
    tells that the broker has dealt with the frame. What a connection could not deliver before its
    end goes to the next one.
    """
    waiting = list(itertools.islice(frames, min(_WINDOW, count)))
    taken = len(waiting)
    while waiting:
        with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as sock:
            alive = True
            while alive and waiting:
                dealt_with, alive = deliver(sock, waiting)
                fresh = list(itertools.islice(frames, min(dealt_with, count - taken)))
                taken += len(fresh)
                waiting = waiting[dealt_with:] + fresh


def deliver(sock: socket.socket, frames: list[bytes]) -> tuple[int, bool]:
    """How many of the frames the broker has dealt with, and whether it kept the connection."""
    sound = [is_truthful(frame) for frame in frames]
    # After a lying length the broker waits for more, or takes what follows for a part of the frame.
    sent = len(frames) if all(sound) else sound.index(False) + 1
    answered = 0
    try:
        sock.sendall(b"".join(frame + probe(number) for number, frame in enumerate(frames[:sent])))
        if not all(sound):
            sent -= 1
        while answered < sent:
            head = receive(sock, 4)
            body = receive(sock, struct.unpack(">i", head)[0])
            if struct.unpack_from(">i", body)[0] == _FIRST_PROBE + answered:
                answered += 1
    except OSError:
        return answered + 1, False
    return (answered, True) if all(sound) else (answered + 1, False)


def is_truthful(frame: bytes) -> bool:
    (size,) = struct.unpack_from(">i", frame)
    return bool(size == len(frame) - 4)


def probe(number: int) -> bytes:
    """A sound ApiVersions request."""
    return struct.pack(">ihhih", 10, 18, 0, _FIRST_PROBE + number, -1)


def receive(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed by the broker")
        data += piece
    return data


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_mutated_frames_harm_nobody() -> None:
    """Random, truncated and lying frames: the process lives and the client beside sees no error."""
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 32)))
    rng = random.Random(seed)
    samples = sample_requests()
    properties = {"auto.create.topics.enable": "false"}
    with Broker(properties) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        topics = [NewTopic(_TOPIC, 1, 1), NewTopic("neighbour", 1, 1)]
        for future in admin.create_topics(topics).values():
            future.result(30)
        neighbour = Neighbour(broker.bootstrap_servers)

        def attack_from_all_sides(count: int) -> None:
            seeds = [rng.getrandbits(64) for _ in range(_ATTACKERS)]
            with ThreadPoolExecutor(_ATTACKERS) as attackers:
                share = count // _ATTACKERS
                under_way = [
                    attackers.submit(attack, broker.port, mutations(each, samples), share)
                    for each in seeds
                ]
            for each in under_way:
                each.result()

        attack_from_all_sides(FRAMES // 10)
        before = rss_mb(broker.pid)
        attack_from_all_sides(FRAMES - FRAMES // 10)
        after = rss_mb(broker.pid)
        assert broker.running, f"HEADRACE_SEED={seed}\n{broker.output}"
        neighbour.finish()
        assert not neighbour.errors, f"HEADRACE_SEED={seed}: {neighbour.errors[:5]}"
        assert neighbour.consumed > 0
        assert after - before < _GROWTH_LIMIT_MB, f"HEADRACE_SEED={seed}: {before} to {after} MB"
