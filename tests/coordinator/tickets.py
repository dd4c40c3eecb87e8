"""Tickets that are numbers: the tests look at replies, nothing is delivered."""

from __future__ import annotations

from typing import Any

from headrace.coordinator.effects import AnyReply, Reply
from headrace.errors import Error


class Ticket(int):
    """One request, by its number."""

    def answer(self, response: object, /) -> None:
        raise AssertionError(f"{response} is delivered")

    def refuse(self, error: Error, /) -> None:
        raise AssertionError(f"{error.name} is delivered")


def opened(reply: AnyReply) -> tuple[int, Any]:
    """The number of the request, and the response."""
    assert isinstance(reply, Reply)
    assert isinstance(reply.ticket, Ticket)
    return reply.ticket, reply.response
