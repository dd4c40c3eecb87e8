"""The asking side of a fetch session (KIP-227): the leader remembers what it was asked.

A follower of a thousand partitions names those only once. Afterwards a request carries what has
changed (a new position, a new epoch, a partition that came or left) and the answer what is news.
The module knows partitions as keys with a question each, and nothing of what is done with answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from headrace.types import LeaderEpoch, Offset

NO_SESSION: Final = 0
FULL_EPOCH: Final = 0
_MAX_EPOCH: Final = 0x7FFFFFFF


class FetchKey(NamedTuple):
    """Topics are named by their ids: a topic of the same name may be another one."""

    topic_id: UUID
    partition: int


class Question(NamedTuple):
    """Where a follower wants to go on, and what the leader needs to know of it."""

    offset: Offset
    last_fetched_epoch: LeaderEpoch
    leader_epoch: LeaderEpoch
    log_start_offset: Offset
    max_bytes: int


@dataclass(slots=True)
class Ask:
    """What one request says: changed questions, and partitions that are asked about no more."""

    session_id: int
    epoch: int
    changed: dict[FetchKey, Question]
    forgotten: list[FetchKey]


class FetchSession:
    """One conversation. `asked` is what the leader would answer if it were asked nothing new."""

    __slots__ = ("_epoch", "asked", "id")

    def __init__(self) -> None:
        self.id = NO_SESSION
        self.asked: dict[FetchKey, Question] = {}
        self._epoch = FULL_EPOCH

    def ask(self, wanted: Mapping[FetchKey, Question], changed: Iterable[FetchKey]) -> Ask:
        """Say what is new: of the keys that may have changed, those that have. Without a session
        everything that is wanted is new.
        """
        if self._epoch == FULL_EPOCH:
            self.asked = dict(wanted)
            return Ask(self.id, FULL_EPOCH, dict(wanted), [])
        news: dict[FetchKey, Question] = {}
        forgotten: list[FetchKey] = []
        for key in changed:
            question = wanted.get(key)
            if question is None:
                if self.asked.pop(key, None) is not None:
                    forgotten.append(key)
            elif self.asked.get(key) != question:
                self.asked[key] = news[key] = question
        return Ask(self.id, self._epoch, news, forgotten)

    def on_answer(self, session_id: int) -> None:
        """The leader answered; 0 instead of a session means that it keeps none for us."""
        if session_id == NO_SESSION or (self._epoch != FULL_EPOCH and session_id != self.id):
            self.reset()
            return
        self.id = session_id
        self._epoch = 1 if self._epoch == _MAX_EPOCH else self._epoch + 1

    def reset(self) -> None:
        """Begin anew with the next request. The leader forgets the session when it hears of it."""
        self._epoch = FULL_EPOCH

    def forget(self) -> None:
        """The connection is gone, and the session may be anything."""
        self.id = NO_SESSION
        self._epoch = FULL_EPOCH
        self.asked = {}
