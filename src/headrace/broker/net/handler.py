"""How an API is served: the registration of its handler, and what a handler answers.

A handler is a module in `headrace.broker.handlers` with one `HANDLER`. Its function is given the
parts of the broker that it names, the request, and the call. It answers in one of three ways: it
returns the response, it is a coroutine that will, or it returns `LATER` and keeps the call to
`reply`; a coroutine, too, may come to `LATER`. None is no answer at all (acks=0).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar, TypeVarTuple

from headrace.broker.net.call import Call, Later
from headrace.broker.net.portions import Portions
from headrace.wire.schema import info

SMALL_BYTES: Final = 16 * 1024
"""A request of this size is decoded and answered at once, whatever it is."""

Parts = TypeVarTuple("Parts")
Q = TypeVar("Q")
R = TypeVar("R")

Outcome: TypeAlias = R | Later | None
"""What a coroutine comes to."""
Working: TypeAlias = Coroutine[Any, Any, R]
"""A coroutine of which only the result is of interest."""
Answer: TypeAlias = R | Later | Working[R | Later | None] | None


@dataclass(frozen=True, slots=True)
class Handler(Generic[*Parts, Q, R]):
    """The registration of one API."""

    request: type[Q]
    handle: Callable[[*Parts, Q, Call], Answer[R]]
    advertised: tuple[int, int] | None = None
    """What ApiVersions tells when it must differ from what is served (KAFKA-18659)."""
    keeps_request: bool = True
    """Whether a call that it answers `LATER` still needs the bytes of its request."""
    inline_bytes: int = SMALL_BYTES
    """Up to which size a request is decoded on the event loop."""
    portions: Portions | None = None
    """The list whose items may be answered a portion at a time; None if they belong together."""
    unanswered: Callable[[Q], bool] | None = None
    """Whether a request gets no answer, and so is served though its client left; None: never."""

    @property
    def key(self) -> int:
        return info(self.request).key

    @property
    def versions(self) -> tuple[int, int]:
        """The first and the last that is served: those that the message declares."""
        declared = info(self.request).versions
        return declared[0], declared[-1]

    @property
    def name(self) -> str:
        return self.request.__name__.removesuffix("Request")

    def bind(self, *parts: *Parts) -> Bound:
        """Give it the parts of a broker that it works with."""
        handle: Callable[..., Answer[R]] = self.handle
        return Bound(self, partial(handle, *parts))


@dataclass(frozen=True, slots=True)
class Bound:
    """A handler that has what it needs."""

    handler: AnyHandler
    handle: Callable[[Any, Call], Answer[Any]]


AnyHandler = Handler[*tuple[Any, ...], Any, Any]
