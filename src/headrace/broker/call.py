"""One request on its way: who asked, in which version, and where the answer goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from headrace.log import LogSlice
from headrace.types import Buffer

if TYPE_CHECKING:
    from headrace.broker.connection import Connection
    from headrace.broker.quotas import Account
    from headrace.broker.request_times import RequestWatch

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
        self.watch: RequestWatch | None = None  # None where nobody wants to know the times
