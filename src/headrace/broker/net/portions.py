"""How a request with very many items is cut, and how the answers to its portions become one.

Answering an item takes microseconds, and a request may have a hundred thousand of them. Where each
item is answered for itself, a handler may as well be asked for a few at a time; a handler declares
that with the names of the two lists. Refuses to know what the items mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PORTION_ITEMS: Final = 64

_NAME_AND_ID: Final = attrgetter("name", "topic_id")
Message = TypeVar("Message", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Portions:
    """The list of a request whose items are answered one by one, and the list of the answers.

    `partitions` are lists inside of those, in request and response: a topic is cut, too.
    """

    asked: str
    answered: str
    partitions: tuple[str, str] | None = None
    is_set: bool = False
    """Whether an item that is asked for twice is answered once."""
    gathered: str | None = None
    """A list of the response to which every portion may add, each entry once."""

    def weight(self, request: object) -> int:
        """How many items must be answered."""
        items = getattr(request, self.asked) or ()
        if self.partitions is None:
            return len(items)
        inner = self.partitions[0]
        return sum(len(getattr(item, inner) or ()) or 1 for item in items)

    def cut(self, request: Message) -> Iterator[Message]:
        """Requests of at most `PORTION_ITEMS` items; the request itself if it names none."""
        portion: list[object] = []
        left = PORTION_ITEMS
        for item, weight in self._pieces(request):
            if weight > left and portion:
                yield replace(request, **{self.asked: portion})
                portion, left = [], PORTION_ITEMS
            portion.append(item)
            left -= weight
        yield replace(request, **{self.asked: portion}) if portion else request

    def _pieces(self, request: object) -> Iterator[tuple[object, int]]:
        items = getattr(request, self.asked) or ()
        if self.is_set:
            items = {_name_of(item): item for item in items}.values()
        if self.partitions is None:
            for item in items:
                yield item, 1
            return
        inner = self.partitions[0]
        for item in items:
            whole = getattr(item, inner) or ()
            if len(whole) <= PORTION_ITEMS:
                yield item, len(whole) or 1
                continue
            for start in range(0, len(whole), PORTION_ITEMS):
                part = whole[start : start + PORTION_ITEMS]
                yield replace(item, **{inner: part}), len(part)

    def join(self, responses: list[Message]) -> Message:
        """One response with all answers, in the order of the items."""
        first = responses[0]
        answers = getattr(first, self.answered)
        for response in responses[1:]:
            more = getattr(response, self.answered)
            if self.partitions is not None and answers and more:
                self._close_gap(answers, more)
            answers += more
            if self.gathered is not None:
                known = getattr(first, self.gathered)
                known += [each for each in getattr(response, self.gathered) if each not in known]
        return first

    def _close_gap(self, answers: list[Message], more: list[Message]) -> None:
        """Make the two halves of an item that was cut one again."""
        assert self.partitions is not None
        inner = self.partitions[1]
        if replace(answers[-1], **{inner: []}) == replace(more[0], **{inner: []}):
            getattr(answers[-1], inner).extend(getattr(more.pop(0), inner))


def _name_of(item: object) -> object:
    """The identity of an item: itself, or the name and the id of a topic."""
    return item if isinstance(item, str) else _NAME_AND_ID(item)
