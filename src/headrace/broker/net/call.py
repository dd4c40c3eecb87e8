"""One request on its way: who asked, in which version, and where the answer goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from headrace.log import LogSlice
from headrace.types import Buffer
from headrace.wire.header import encode_response

if TYPE_CHECKING:
    import asyncio

    from headrace.broker.net.connection import Connection
    from headrace.broker.net.quotas import Account
    from headrace.broker.net.request_times import RequestWatch

Chunk = Buffer | LogSlice


class Later:
    """The type of `LATER`: the handler keeps the call and replies when it can."""


LATER: Final = Later()


def unanswered() -> None:
    """`Call.on_abandoned` of a request that gets no answer: it is served though its client left."""


class Call:
    """One request being answered: who asked, in which version, and where the answer goes."""

    __slots__ = (
        "account",
        "answered_ns",
        "began_ns",
        "chunks",
        "client_id",
        "connection",
        "correlation_id",
        "handled_ns",
        "held_bytes",
        "on_abandoned",
        "queued_ns",
        "received_ns",
        "throttle_ms",
        "version",
        "watch",
    )

    # Set while `watch` is, which knows what they mean.
    received_ns: int
    began_ns: int
    handled_ns: int
    answered_ns: int
    queued_ns: int

    def __init__(
        self, connection: Connection, version: int, correlation_id: int, client_id: str | None
    ) -> None:
        self.connection = connection
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.chunks: Sequence[Chunk] | None = (
            None  # None until answered; empty = no answer (acks=0)
        )
        # While it is pending: the size of its request, or of its answer that waits for others.
        self.held_bytes = 0
        self.on_abandoned: Callable[[], object] | None = None  # the client left before the answer
        self.account: Account | None = None  # None where no quota is active
        self.throttle_ms = 0  # for how long a quota keeps the answer back
        self.watch: RequestWatch | None = None  # None unless the times of this call are taken

    def reply(self, response: object) -> None:
        """Answer a call that was to be answered `LATER`; None sends nothing (acks=0)."""
        if self.account is not None:
            self.account.settle(self, response)
        if self.watch is not None:
            self.watch.on_answer(self, response)
        chunks: Sequence[Chunk] = ()
        if response is not None:
            chunks = encode_response(self.correlation_id, self.version, response)
        self.connection.answer_later(self, chunks)


class PortionCall(Call):
    """The call of one portion of a large request: its answer is collected, not sent."""

    __slots__ = ("outcome",)

    def __init__(self, whole: Call, outcome: asyncio.Future[object]) -> None:
        super().__init__(whole.connection, whole.version, whole.correlation_id, whole.client_id)
        self.account = whole.account
        self.outcome = outcome

    def reply(self, response: object) -> None:
        if not self.outcome.done():  # else the client has gone
            self.outcome.set_result(response)
