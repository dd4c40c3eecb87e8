"""What lies between clients and brokers: frames that are late, lost, cut off or doubled.

Nodes have names, `b2` for a broker, `c/...` for a client. Frames of one connection arrive in their
order, those of different ones in any. A cut has a direction; what is sent into it waits, as TCP
waits, and arrives when the cut is mended, unless the sender has given up its connection by then,
and sometimes even so. A lost packet breaks its connection. A client's frame may arrive twice, over
a second connection, as if it had been sent again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from headrace.broker.net.call import Call
from headrace.broker.net.repeats import Repeats
from headrace.errors import Error
from headrace.log import LogSlice
from headrace.testing.random_streams import RandomStreams
from headrace.testing.schedule import Schedule
from headrace.types import Buffer
from headrace.wire import decoder
from headrace.wire.header import decode_response_header, encode_request
from headrace.wire.registry import by_key
from headrace.wire.schema import info

Reply = Callable[[Any], None]
"""Called with the response, or with None if the connection broke before it came."""

_REFUSED_AFTER_MS: Final = 20
_NOTICED_AFTER_MS: Final = 150
_LATEST_SECOND_MS: Final = 4_000
_SIZE_BYTES: Final = 4


@dataclass(slots=True)
class Weather:
    """How bad the network is; all zeros but the delay is a good one."""

    max_delay_ms: int = 5
    loss: float = 0.0
    repeats: float = 0.0


@dataclass(eq=False, slots=True)
class SimulatedCall:
    """A request on its way; `context` is what its client wants to know again by the answer."""

    number: int
    request: Any
    version: int
    client_id: str
    context: Any
    connection: Any
    is_answered: bool = field(default=False, kw_only=True)

    @property
    def name(self) -> str:
        return type(self.request).__name__.removesuffix("Request")


class Served:
    """What a node that answers requests is to the network: one life of a broker."""

    is_stopped: bool
    has_died: bool
    on_frame: Callable[[ServerConnection, bytes], None]


class _Listener:
    """What handlers ask of the listener behind a connection."""

    name: Final = "PLAINTEXT"


@dataclass(eq=False, slots=True)
class Link:
    """One connection, as its client has it."""

    client: str
    server: str
    rng: Random
    bears_late_repeats: bool
    is_open: bool = True
    is_delivering: bool = True  # what is on its way still arrives
    last_arrival_ms: int = 0
    last_reply_ms: int = 0
    waiting: dict[int, Reply] = field(default_factory=dict)
    far: ServerConnection | None = None


class ServerConnection:
    """The same connection as the broker has it; answers leave in the order of requests."""

    def __init__(self, link: Link, network: SimulatedNetwork, life: Served) -> None:
        self.peer_host = "10.0.0.1"
        self.principal = "ANONYMOUS"
        self.muted_until_ms = 0
        self.software = ""
        self.write_turn: Any = None
        self.closed = False
        self.last_active = 0.0
        self.listener = _Listener
        self.life = life
        self.link = link
        self.calls: dict[int, SimulatedCall] = {}
        self.repeats = Repeats()
        self._network = network
        self._pending: deque[Call] = deque()

    def expect(self, call: Call) -> None:
        self._pending.append(call)
        if call.chunks is not None:
            self._send_what_is_ready()

    def repeat(self, frame: bytes, correlation_id: int) -> bool:
        """Answer a request like an earlier one without decoding it; False: it must be decoded."""
        if self._pending or self.write_turn is not None:
            return False
        answer = self.repeats.answer(frame, correlation_id)
        if isinstance(answer, bytes):
            self._network.answer(self, correlation_id, answer)
        return answer is not None

    def answer_now(self, chunks: Sequence[Any], call: Call) -> None:
        call.chunks = chunks
        self._pending.append(call)
        self._send_what_is_ready()

    def answer_later(self, call: Call, chunks: Sequence[Any]) -> None:
        call.chunks = chunks
        self._send_what_is_ready()

    def _send_what_is_ready(self) -> None:
        while self._pending and self._pending[0].chunks is not None:
            call = self._pending.popleft()
            if call.chunks:
                self._network.answer(self, call.correlation_id, _joined(call.chunks))

    def refuse(self, reason: str) -> None:
        self._network.on_refused(self.life, reason)
        self.close()

    def abort(self) -> None:
        self._network.on_refused(self.life, "a handler failed")
        self.close()

    def close(self) -> None:
        if not self.closed:
            self.abandon()
            self._network.break_link(self.link, _NOTICED_AFTER_MS)

    def abandon(self) -> None:
        """Nobody waits any more."""
        self.closed = True
        for call in self._pending:
            if call.on_abandoned is not None:
                call.on_abandoned()
        self._pending.clear()

    def mute(self, duration_ms: int) -> None:
        """A quota is exceeded: what arrives from now on waits, as in the socket."""
        self.muted_until_ms = max(self.muted_until_ms, self._network.now_ms + duration_ms)


class SimulatedNetwork:
    """All connections of one world."""

    def __init__(self, schedule: Schedule, chance: RandomStreams, weather: Weather) -> None:
        self.weather = weather
        self.cuts: set[tuple[str, str]] = set()
        self.servers: dict[str, Served] = {}
        self.on_arrival: Callable[[SimulatedCall], None] = lambda _: None
        self.on_answer: Callable[[Served, SimulatedCall, Any], None] = lambda *_: None
        self.on_refused: Callable[[Served, str], None] = lambda _life, _reason: None
        self._schedule = schedule
        self._chance = chance
        self._links: dict[Link, None] = {}
        self._held: list[tuple[str, str, Callable[[], None]]] = []
        self._count = 0

    @property
    def now_ms(self) -> int:
        return self._schedule.now_ms

    # The way of a request.

    def connect(
        self, client: str, server: str, before: Link | None = None, *, late: bool = True
    ) -> Link:
        """A connection; `before` is the one that it replaces."""
        link = Link(client, server, self._chance.of("link", client, server), late)
        if before is not None and not late:
            link.last_arrival_ms = before.last_arrival_ms
        self._links[link] = None
        return link

    def send(self, link: Link, request: Any, version: int, context: Any, on_reply: Reply) -> None:
        """Let a request go; the reply comes, or None, or nothing before the client gives up."""
        call, frame = self._frame(link, request, version, context)
        link.waiting[call.number] = on_reply
        rng, weather, now_ms = link.rng, self.weather, self._schedule.now_ms
        arrival_ms = max(now_ms + self._delay_ms(rng), link.last_arrival_ms)
        link.last_arrival_ms = arrival_ms
        what = f"{link.client} > {link.server} {call.name} v{version}"
        if weather.loss and rng.random() < weather.loss:
            self._schedule.after(
                arrival_ms - now_ms, f"{what} is lost", lambda: self.break_link(link)
            )
            return
        self._schedule.after(arrival_ms - now_ms, what, lambda: self._arrive(link, call, frame))
        if weather.repeats and rng.random() < weather.repeats and link.client[0] != "b":
            self._repeat(link, call, arrival_ms - now_ms)

    def _frame(
        self, link: Link, request: Any, version: int, context: Any
    ) -> tuple[SimulatedCall, bytes]:
        self._count += 1
        frame = b"".join(encode_request(self._count, link.client, version, request))
        call = SimulatedCall(self._count, request, version, link.client, context, link)
        return call, frame[_SIZE_BYTES:]

    def _repeat(self, link: Link, first: SimulatedCall, delay_ms: int) -> None:
        call, frame = self._frame(link, first.request, first.version, first.context)
        other = self.connect(link.client, link.server, late=link.bears_late_repeats)
        if link.bears_late_repeats:
            delay_ms = link.rng.choice((delay_ms, link.rng.randrange(_LATEST_SECOND_MS)))

        def arrive() -> None:
            if link.is_delivering or link.bears_late_repeats:
                self._arrive(other, call, frame)

        what = f"{link.client} > {link.server} {call.name} v{call.version}, again"
        self._schedule.after(delay_ms, what, arrive)

    def _arrive(self, link: Link, call: SimulatedCall, frame: bytes) -> None:
        if not link.is_delivering:
            return
        if (link.client, link.server) in self.cuts:
            self._hold(link.client, link.server, lambda: self._arrive(link, call, frame))
            return
        life = self.servers.get(link.server)
        if life is None or (link.far is not None and link.far.life is not life):
            self.break_link(link, _REFUSED_AFTER_MS)
            return
        if life.is_stopped:
            self._hold(link.server, link.server, lambda: self._arrive(link, call, frame))
            return
        if link.far is None:
            link.far = ServerConnection(link, self, life)
        if link.far.closed:
            return
        muted_ms = link.far.muted_until_ms - self.now_ms
        if muted_ms > 0:
            what = f"{link.client} > {link.server} is not muted any more"
            self._schedule.after(muted_ms, what, lambda: self._arrive(link, call, frame))
            return
        link.far.calls[call.number] = call
        self.on_arrival(call)
        life.on_frame(link.far, frame)

    # The way back.

    def answer(self, far: ServerConnection, number: int, frame: bytes) -> None:
        """A broker answers; the witness hears of it at once, the client when it arrives."""
        call = far.calls.pop(number)
        if far.life.has_died or self.servers.get(far.link.server) is not far.life:
            return
        call.is_answered = True
        response_class = by_key(info(type(call.request)).key).response
        body = frame[_SIZE_BYTES:]
        _, position = decode_response_header(body, 0, call.version, response_class)
        response, _ = decoder(response_class, call.version)(body, position, memoryview(body))
        self.on_answer(far.life, call, response)
        link = far.link
        if number not in link.waiting:
            return  # Nobody waits: it came twice, or the client has gone.
        rng, now_ms = link.rng, self._schedule.now_ms
        if self.weather.loss and rng.random() < self.weather.loss:
            self.break_link(link, _NOTICED_AFTER_MS)
            return
        reply_ms = max(now_ms + self._delay_ms(rng), link.last_reply_ms)
        link.last_reply_ms = reply_ms

        def arrive() -> None:
            if (link.server, link.client) in self.cuts:
                self._hold(link.server, link.client, arrive)
                return
            on_reply = link.waiting.pop(number, None)
            if on_reply is not None:
                on_reply(response)

        what = f"{link.client} < {link.server} {call.name}{_errors_shown(response)}"
        self._schedule.after(reply_ms - now_ms, what, arrive)

    # Cuts.

    def _hold(self, source: str, target: str, go_on: Callable[[], None]) -> None:
        self._held.append((source, target, go_on))

    def cut(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.cuts.update(pairs)

    def heal(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.cuts.difference_update(pairs)
        self.release()

    def release(self) -> None:
        """Let go what need not wait any more: a cut was mended, a stopped broker goes on."""
        held, self._held = self._held, []
        for source, target, go_on in held:
            life = self.servers.get(target)
            is_stopped = source == target and life is not None and life.is_stopped
            if (source, target) in self.cuts or is_stopped:
                self._held.append((source, target, go_on))
            else:
                delay_ms = self._chance.of("held").randrange(1, 60)
                self._schedule.after(delay_ms, f"{source} > {target} after a cut", go_on)

    # The ends of connections.

    def give_up(self, link: Link) -> None:
        """The client closes a connection; what it has sent may still arrive."""
        link.is_delivering = link.rng.random() < 0.5
        self._close(link)

    def break_link(self, link: Link, after_ms: int = 0) -> None:
        link.is_delivering = False
        if after_ms:
            what = f"{link.client} loses its connection to {link.server}"
            self._schedule.after(after_ms, what, lambda: self._close(link))
        else:
            self._close(link)

    def _close(self, link: Link) -> None:
        link.is_open = False
        self._links.pop(link, None)
        waiting, link.waiting = link.waiting, {}
        for on_reply in waiting.values():
            on_reply(None)

    def break_node(self, name: str) -> None:
        """A node is gone: its peers notice, now or later."""
        self.servers.pop(name, None)
        for link in list(self._links):
            if link.server == name:
                self.break_link(link, 1 + link.rng.randrange(_NOTICED_AFTER_MS))
            elif link.client == name:
                link.waiting.clear()
                self.give_up(link)

    def _delay_ms(self, rng: Random) -> int:
        most = self.weather.max_delay_ms
        return rng.randrange(1, most + 1) if rng.random() < 0.9 else most * 4


def errors_in(message: Any) -> list[int]:
    """Every error code anywhere in a response."""
    found: list[int] = []
    for name in message.__dataclass_fields__:
        value = getattr(message, name)
        if name.endswith("error_code"):
            if value:
                found.append(value)
        elif type(value) is list and value and hasattr(value[0], "__dataclass_fields__"):
            for each in value:
                found += errors_in(each)
    return found


def _errors_shown(response: Any) -> str:
    errors = errors_in(response)
    return f": {', '.join(Error(error).name for error in errors)}" if errors else ""


def _joined(chunks: Sequence[Buffer | LogSlice]) -> bytes:
    return b"".join(
        chunk.data() if isinstance(chunk, LogSlice) else bytes(chunk) for chunk in chunks
    )
