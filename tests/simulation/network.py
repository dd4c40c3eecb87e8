"""What lies between clients and the broker: delay, loss, requests that arrive twice or late.

Requests of one connection arrive in their order, those of different connections in any. A lost
packet breaks its connection; the client connects anew and repeats what it likes. A request may
arrive twice, as if the client had given up one connection and repeated itself over another, of
which both arrived after all.

How late the second one may come depends on the protocol. Transactions v2 and classic groups
recognize it however late it is, and so does a log. Transactions v1 and heartbeats of the consumer
protocol do not, which is a known limit of these protocols (KIP-890 is the cure for the former):
their second request comes right behind the first, and what they sent over an old connection never
comes behind what they send over a new one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.testing.schedule import Schedule
from headrace.testing.simulated_network import SimulatedCall, Weather
from headrace.wire import decode, encode_bytes
from tests.simulation.failure import fail

Reply = Callable[[Any], None]
"""Called with the response, or with None if the connection broke before it came."""

_REFUSED_AFTER_MS: Final = 20
_NOTICED_AFTER_MS: Final = 150
_LATEST_SECOND_MS: Final = 6_000


@dataclass(eq=False, slots=True)
class Connection:
    """One connection of a client, seen from both ends."""

    client: str
    bears_late_repeats: bool
    peer_host: str = "10.0.0.1"
    is_open: bool = True  # for the client
    is_delivering: bool = True  # what is on its way still arrives
    last_arrival_ms: int = 0
    last_reply_ms: int = 0
    waiting: dict[int, Exchange] = field(default_factory=dict)
    writes: deque[Callable[[], None]] = field(default_factory=deque)  # that wait for their turn


@dataclass(eq=False, slots=True)
class Exchange:
    """A request whose answer the client waits for."""

    number: int
    on_reply: Reply


@dataclass(eq=False, slots=True)
class Call(SimulatedCall):
    """A request that has arrived, with all that a handler of the broker asks of it."""

    answer_to: Callable[[Call, Any], None]

    def answer(self, response: Any) -> None:
        self.answer_to(self, response)


class Network:
    """All connections of one world."""

    def __init__(self, schedule: Schedule, weather: Weather) -> None:
        self.weather = weather
        self.unanswered: dict[int, Call] = {}
        self.serve: Callable[[Call], None] | None = None  # None while the broker is down
        self.on_arrival: Callable[[Call], None] = lambda _: None
        self.on_answer: Callable[[Call, Any], None] = lambda _call, _response: None
        self._schedule = schedule
        self._rng = schedule.rng
        self._connections: dict[Connection, None] = {}
        self._count = 0

    def connect(self, client: str, before: Connection | None, *, late: bool) -> Connection:
        """A connection; `before` is the one that it replaces."""
        connection = Connection(client, late)
        if before is not None and not late:
            connection.last_arrival_ms = before.last_arrival_ms
        self._connections[connection] = None
        return connection

    def send(
        self, connection: Connection, request: Any, version: int, context: Any, on_reply: Reply
    ) -> None:
        """Let a request go; the reply comes, or None, or nothing before the client gives up."""
        self._count += 1
        exchange = Exchange(self._count, on_reply)
        connection.waiting[exchange.number] = exchange
        rng, weather = self._rng, self.weather
        now_ms = self._schedule.now_ms
        arrival_ms = max(now_ms + self._delay_ms(), connection.last_arrival_ms)
        connection.last_arrival_ms = arrival_ms
        name = type(request).__name__.removesuffix("Request")
        if rng.random() < weather.loss:
            self._schedule.after(
                arrival_ms - now_ms,
                f"{connection.client}: {name} is lost",
                lambda: self._break(connection),
            )
            return

        def arrive() -> None:
            if connection.is_delivering:
                self._deliver(connection, exchange.number, request, version, context)

        what = f"{connection.client} > {name} v{version}"
        self._schedule.after(arrival_ms - now_ms, what, arrive)
        if rng.random() < weather.repeats:
            self._repeat(connection, request, version, context, arrival_ms - now_ms)

    def _repeat(
        self, connection: Connection, request: Any, version: int, context: Any, delay_ms: int
    ) -> None:
        other = self.connect(connection.client, None, late=connection.bears_late_repeats)
        if connection.bears_late_repeats:
            delay_ms = self._rng.choice((delay_ms, self._rng.randrange(_LATEST_SECOND_MS)))
        self._count += 1
        number = self._count

        def arrive() -> None:
            is_behind = connection.is_delivering or connection.bears_late_repeats
            if other.is_delivering and is_behind:
                self._deliver(other, number, request, version, context)

        name = type(request).__name__.removesuffix("Request")
        self._schedule.after(delay_ms, f"{connection.client} > {name} v{version}, again", arrive)

    def _deliver(
        self, connection: Connection, number: int, request: Any, version: int, context: Any
    ) -> None:
        if self.serve is None:
            self._break(connection, _REFUSED_AFTER_MS)
            return
        request = _through_bytes(request, version)
        call = Call(
            number, request, version, connection.client, context, connection, self._answered
        )
        self.unanswered[number] = call
        self.on_arrival(call)
        self.serve(call)

    def _answered(self, call: Call, response: Any) -> None:
        if call.is_answered:
            fail("answered-once", f"{call.name} of {call.client_id} is answered twice")
        if self.unanswered.pop(call.number, None) is None:
            fail("answered-once", f"{call.name} of {call.client_id} is answered after a crash")
        call.is_answered = True
        response = _through_bytes(response, call.version)
        self.on_answer(call, response)
        connection = call.connection
        exchange = connection.waiting.get(call.number)
        if exchange is None:
            return  # Nobody waits: it came twice, or the client has gone.
        if self._rng.random() < self.weather.loss:
            self._break(connection, _NOTICED_AFTER_MS)
            return
        now_ms = self._schedule.now_ms
        reply_ms = max(now_ms + self._delay_ms(), connection.last_reply_ms)
        connection.last_reply_ms = reply_ms

        def arrive() -> None:
            if connection.waiting.pop(call.number, None) is not None:
                exchange.on_reply(response)

        self._schedule.after(
            reply_ms - now_ms, f"{connection.client} < {call.name}{_errors(response)}", arrive
        )

    def give_up(self, connection: Connection) -> None:
        """The client closes a connection; what it has sent may still arrive."""
        connection.is_delivering = self._rng.random() < 0.5
        self._close(connection)

    def _break(self, connection: Connection, after_ms: int = 0) -> None:
        connection.is_delivering = False
        if after_ms:
            what = f"{connection.client}: connection lost"
            self._schedule.after(after_ms, what, lambda: self._close(connection))
        else:
            self._close(connection)

    def _close(self, connection: Connection) -> None:
        connection.is_open = False
        self._connections.pop(connection, None)
        waiting, connection.waiting = connection.waiting, {}
        for exchange in waiting.values():
            exchange.on_reply(None)

    def break_everything(self) -> None:
        """The broker is gone: no request that it has received will be answered."""
        self.unanswered.clear()
        self.serve = None
        for connection in list(self._connections):
            connection.writes.clear()
            self._break(connection, 1 + self._rng.randrange(_NOTICED_AFTER_MS))

    def _delay_ms(self) -> int:
        most = self.weather.max_delay_ms
        return self._rng.randrange(1, most + 1) if self._rng.random() < 0.9 else most * 4


def _through_bytes(message: Any, version: int) -> Any:
    """The message as the other end reads it; plain tuples are no messages of the protocol."""
    if isinstance(message, tuple):
        return message
    return decode(type(message), version, encode_bytes(message, version))


def _errors(response: Any) -> str:
    error = getattr(response, "error_code", 0)
    return f" error {error}" if error else ""
