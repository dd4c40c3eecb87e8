"""Requests that differ from an earlier one of their connection only in what they carry.

A client sends the same request again and again, with other records: all bytes before the records
are those of the last time, but for the correlation id. Whoever has answered such a request may
leave a `Repeated` here, which answers the next one without decoding it. It may decline, as long as
nothing has happened; then the request is decoded and handled as every other.

    OFFSET  SIZE  MEANING
         0     4  API key and version: compared by the `Repeated`
         4     4  correlation id: another one each time
         8   end  compared here
"""

from __future__ import annotations

from typing import Final, Protocol

from headrace.broker.net.call import Later

_BEGIN: Final = 8
_MOST_KNOWN: Final = 16
_MOST_LEARNED: Final = 64


class Repeated(Protocol):
    """One request that is known."""

    def answer(self, frame: bytes, correlation_id: int) -> bytes | Later | None:
        """A whole response frame, or `LATER`; None if the frame must be decoded after all."""


class Repeats:
    """The requests of one connection that are known; all of them begin with as many bytes."""

    __slots__ = ("_end", "_learned", "known")

    def __init__(self) -> None:
        self._end = _BEGIN
        self.known: dict[bytes, Repeated] = {}
        self._learned = 0

    @property
    def is_open(self) -> bool:
        """Whether more can be learned: a client whose requests are never the same costs no more."""
        return self._learned < _MOST_LEARNED

    def answer(self, frame: bytes | bytearray, correlation_id: int) -> bytes | Later | None:
        """The answer to a request that is known; None if it must be decoded."""
        if type(frame) is not bytes:
            return None  # a large one
        repeated = self.known.get(frame[_BEGIN : self._end])
        return None if repeated is None else repeated.answer(frame, correlation_id)

    def learn(self, frame: bytes, end: int, repeated: Repeated) -> None:
        """Know requests that are as `frame` up to `end`."""
        if end != self._end or len(self.known) >= _MOST_KNOWN:
            self.known.clear()
            self._end = end
        self._learned += 1
        self.known[frame[_BEGIN:end]] = repeated
