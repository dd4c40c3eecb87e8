"""A client on a bare socket: one record, one answer, and again. Run as a process of its own.

The cheapest producer that the protocol allows: the request is encoded once and sent unchanged, so
what is left of a round trip is the broker. Prints READY when warm, starts at a line on standard
input and prints the nanoseconds of every round trip as JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benchmarks import wire

_LEADER_TIMEOUT_S = 30
_NOT_YET = (3, 5, 6)  # UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER


@dataclass(frozen=True, slots=True)
class RawLoad:
    """What one client sends."""

    host: str
    port: int
    topic: str
    partition: int
    round_trips: int
    warmup: int
    value_size: int
    acks: int = -1

    def to_argument(self) -> str:
        return json.dumps(asdict(self))


def main() -> None:
    load = RawLoad(**json.loads(sys.argv[1]))
    with wire.connect((load.host, load.port)) as sock:
        send = _sender(sock, load)
        _wait_for_leader(send)
        _repeat(send, load.warmup)
        print("READY", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        nanos = _repeat(send, load.round_trips)
        ended = time.monotonic()
    print(json.dumps({"began": began, "ended": ended, "nanos": nanos}), flush=True)


def _sender(sock: socket.socket, load: RawLoad) -> Callable[[], int]:
    """A function that makes one round trip and returns the error code of the answer."""
    frame = wire.produce_frame(load.topic, load.partition, bytes(load.value_size), load.acks)
    error_at = wire.produce_error_at(load.topic)

    def send() -> int:
        sock.sendall(frame)
        return int.from_bytes(wire.read_frame(sock)[error_at], "big", signed=True)

    return send


def _wait_for_leader(send: Callable[[], int]) -> None:
    """Metadata may name a leader a moment before the leader itself knows."""
    deadline = time.monotonic() + _LEADER_TIMEOUT_S
    while error := send():
        if error not in _NOT_YET or time.monotonic() > deadline:
            sys.exit(f"produce answered error {error}")
        time.sleep(0.01)


def _repeat(send: Callable[[], int], times: int) -> list[int]:
    """The nanoseconds of so many round trips."""
    nanos = []
    for _ in range(times):
        start = time.perf_counter_ns()
        error = send()
        nanos.append(time.perf_counter_ns() - start)
        if error:
            sys.exit(f"produce answered error {error}")
    return nanos


if __name__ == "__main__":
    main()
