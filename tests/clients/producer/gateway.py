"""A gateway in front of a broker: it sees every request, and loses, refuses or delays answers.

What it passes on names the gateway as the broker's address, so that clients stay behind it. It
works in front of any broker; what a client does about a fault can be tried against Apache Kafka
as well.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from headrace.errors import Error
from headrace.wire import decode
from headrace.wire.header import (
    decode_request_header,
    decode_response_header,
    encode_response,
    peek,
)
from headrace.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.wire.registry import by_key

TIMEOUT_SECONDS = 30


class Api(enum.IntEnum):
    """The requests that tests look for, by their keys."""

    PRODUCE = 0
    METADATA = 3
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    API_VERSIONS = 18
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CLUSTER = 60


REWRITTEN = (Api.API_VERSIONS, Api.METADATA, Api.FIND_COORDINATOR, Api.DESCRIBE_CLUSTER)


class Loss(enum.Enum):
    """What is lost before the connection breaks."""

    REQUEST = enum.auto()
    ANSWER = enum.auto()


# None lets a request pass; an error answers it without a broker.
Fault = Loss | Error | None


@dataclass(frozen=True)
class Seen:
    """A request that has arrived."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    message: Any
    at_seconds: float


@dataclass
class _Pending:
    """An answer that the client waits for: the broker's next one unless `frame` is there."""

    seen: Seen
    frame: bytes | None = None
    then_close: bool = False

    @property
    def is_produce(self) -> bool:
        return self.seen.api_key == Api.PRODUCE


class _Line:
    """Answers that a connection waits for, in the order of its requests; None is its end."""

    def __init__(self) -> None:
        self._waiting: deque[_Pending | None] = deque()
        self._changed = threading.Condition()

    def put(self, wanted: _Pending | None) -> int:
        """How many produce requests of the connection are in flight now."""
        with self._changed:
            self._waiting.append(wanted)
            self._changed.notify()
            return sum(each is not None and each.is_produce for each in self._waiting)

    def first(self) -> _Pending | None:
        """Wait for the oldest one, which stays in flight until it is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            return self._waiting[0]

    def drop_first(self) -> None:
        with self._changed:
            self._waiting.popleft()


@dataclass
class Gateway:
    """Listens on an address of its own, for one broker.

    `bootstrap` is where clients begin; `leads_to` stands for the address that they are told, that
    of this gateway unless there is another. `leaderless` partitions have no leader as far as
    clients know; `newest_versions` of APIs and `feature_levels` are the highest that clients are
    offered.
    """

    broker: str
    leads_to: Gateway | None = None
    leaderless: frozenset[int] = frozenset()
    newest_versions: Mapping[int, int] = field(default_factory=dict)
    feature_levels: Mapping[str, int] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    peak_in_flight: int = 0

    def __post_init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._port = int(self._server.getsockname()[1])
        self._changed = threading.Condition()
        self._faults: dict[int, deque[Fault]] = {}
        self._passing = threading.Event()
        self._passing.set()
        self._sockets: list[socket.socket] = [self._server]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    def fail_next(self, *faults: Fault, api: Api = Api.PRODUCE) -> None:
        """What happens to the next requests of this kind, in the order of their arrival."""
        with self._changed:
            self._faults.setdefault(api, deque()).extend(faults)

    @contextlib.contextmanager
    def holding_answers(self) -> Iterator[None]:
        """Let produce requests reach the broker, and keep its answers until the end."""
        self._passing.clear()
        try:
            yield
        finally:
            self._passing.set()

    def of(self, api: Api) -> list[Seen]:
        """The requests of one kind so far."""
        with self._changed:
            return [each for each in self.seen if each.api_key == api]

    def await_requests(self, api: Api, count: int) -> list[Seen]:
        """Wait until so many requests of one kind have arrived."""
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: sum(each.api_key == api for each in self.seen) >= count, TIMEOUT_SECONDS
            )
        assert arrived, f"{len(self.of(api))} of {count} requests came in time"
        return self.of(api)

    def close(self) -> None:
        self._passing.set()
        for each in list(self._sockets):
            _close(each)
        for thread in self._threads:
            thread.join(TIMEOUT_SECONDS)

    def _start(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        host, _, port = self.broker.rpartition(":")
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection((host, int(port)))
                for each in (client, broker):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += [client, broker]
                line = _Line()
                self._start(self._pass_requests, client, broker, line)
                self._start(self._pass_answers, client, broker, line)

    def _pass_requests(self, client: socket.socket, broker: socket.socket, line: _Line) -> None:
        with contextlib.suppress(OSError), client.makefile("rb") as requests:
            while frame := _frame(requests):
                wanted = self._take(_looked_at(frame), line)
                if wanted.frame is None:
                    broker.sendall(len(frame).to_bytes(4, "big") + frame)
                if wanted.then_close:
                    break
        line.put(None)

    def _take(self, seen: Seen, line: _Line) -> _Pending:
        """Let a request be seen, and what answers it wait in line, before anything is passed on."""
        with self._changed:
            faults = self._faults.get(seen.api_key)
            fault = faults.popleft() if faults else None
            wanted = _Pending(seen, then_close=isinstance(fault, Loss))
            if isinstance(fault, Error):
                wanted.frame = _refusal(seen, fault)
            elif fault is Loss.REQUEST:
                wanted.frame = b""
            if wanted.frame is not None or _is_answered(seen):
                self.peak_in_flight = max(self.peak_in_flight, line.put(wanted))
            self.seen.append(seen)
            self._changed.notify_all()
            return wanted

    def _pass_answers(self, client: socket.socket, broker: socket.socket, line: _Line) -> None:
        with contextlib.suppress(OSError), broker.makefile("rb") as answers:
            while (wanted := line.first()) is not None:
                frame = wanted.frame
                if frame is None:
                    answer = _frame(answers)
                    if answer is None:
                        break
                    frame = self._rewritten(wanted.seen, answer)
                if wanted.is_produce:
                    self._passing.wait(TIMEOUT_SECONDS)
                line.drop_first()
                if wanted.then_close:
                    break
                client.sendall(frame)
        _close(client)
        _close(broker)

    def _rewritten(self, seen: Seen, answer: bytes) -> bytes:
        """The answer as clients shall see it, as a frame with its size."""
        if seen.api_key not in REWRITTEN:
            return len(answer).to_bytes(4, "big") + answer
        response_class = by_key(seen.api_key).response
        correlation_id, position = decode_response_header(answer, 0, seen.version, response_class)
        message: Any = decode(response_class, seen.version, answer, position)
        if seen.api_key == Api.API_VERSIONS:
            for offered in message.api_keys:
                newest = self.newest_versions.get(offered.api_key, offered.max_version)
                offered.max_version = min(newest, offered.max_version)
            for feature in message.finalized_features:
                level = self.feature_levels.get(feature.name, feature.max_version_level)
                feature.max_version_level = min(level, feature.max_version_level)
        elif seen.api_key == Api.FIND_COORDINATOR:
            self._readdress(message, *message.coordinators)
        else:
            self._readdress(*message.brokers)
        if seen.api_key == Api.METADATA:
            for partition in itertools.chain(*(topic.partitions for topic in message.topics)):
                if partition.partition_index in self.leaderless:
                    partition.leader_id, partition.error_code = -1, Error.LEADER_NOT_AVAILABLE
        return b"".join(encode_response(correlation_id, seen.version, message))

    def _readdress(self, *brokers: Any) -> None:
        for broker in brokers:
            broker.host, broker.port = "127.0.0.1", (self.leads_to or self)._port


@contextlib.contextmanager
def gateway(broker: str, **options: Any) -> Iterator[Gateway]:
    """A gateway that is gone afterwards; options as its fields."""
    between = Gateway(broker, **options)
    try:
        yield between
    finally:
        between.close()


def _looked_at(frame: bytes) -> Seen:
    key, version, correlation_id = peek(frame)
    now_seconds = time.monotonic()
    if key not in list(Api):
        return Seen(key, version, correlation_id, None, None, now_seconds)
    request_class = by_key(key).request
    header, position = decode_request_header(frame, 0, request_class)
    message: Any = decode(request_class, version, frame, position)
    return Seen(key, version, correlation_id, header.client_id, message, now_seconds)


def _is_answered(seen: Seen) -> bool:
    return not (seen.api_key == Api.PRODUCE and seen.message.acks == 0)


def _refusal(seen: Seen, error: Error) -> bytes:
    """What a broker would say that refuses every partition of a produce request."""
    request: ProduceRequest = seen.message
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=data.index,
                        error_code=error,
                        base_offset=-1,
                        log_append_time_ms=-1,
                        log_start_offset=-1,
                    )
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
    return b"".join(encode_response(seen.correlation_id, seen.version, response))


def _frame(stream: BinaryIO) -> bytes | None:
    """The next frame without its size, or None at the end."""
    size = stream.read(4)
    return stream.read(int.from_bytes(size, "big")) if len(size) == 4 else None


def _close(each: socket.socket) -> None:
    # A thread that waits in accept or recv is not woken by close alone.
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
