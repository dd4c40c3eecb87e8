"""Share sessions (KIP-932): what a member of a share group reads here, and in which order it asks.

A session is named by group and member, opened with epoch 0, counted on by every request, closed
with epoch -1 or by the end of its connection: what the member held is free again then. Unlike a
fetch session it is no optimization: without one nothing is read and nothing acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.errors import ClientFault, Error
from headrace.types import SharePartitionKey

if TYPE_CHECKING:
    from headrace.broker.net.connection import Connection

OPENING_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_MAX_EPOCH: Final = 0x7FFFFFFF


class SessionName(NamedTuple):
    group_id: str
    member_id: str


class ShareSession:
    """One member on this broker."""

    __slots__ = ("connection", "epoch", "name", "partitions")

    def __init__(self, name: SessionName, connection: Connection) -> None:
        self.name = name
        self.connection = connection
        self.epoch = 1  # the epoch that the next request must carry
        self.partitions: dict[SharePartitionKey, None] = {}

    def update(
        self, added: Iterable[SharePartitionKey], forgotten: Iterable[SharePartitionKey]
    ) -> None:
        self.partitions.update(dict.fromkeys(added))
        for key in forgotten:
            self.partitions.pop(key, None)

    def in_turn(self) -> list[SharePartitionKey]:
        """The partitions, each request beginning with another one, so that none starves."""
        keys = list(self.partitions)
        if len(keys) > 1:
            turn = self.epoch % len(keys)
            keys = keys[turn:] + keys[:turn]
        return keys


class ShareSessions:
    """All share sessions of a broker. `on_left(name, is_last)` is told of members that are gone,
    and whether their group has no other session here.
    """

    def __init__(self, capacity: int, on_left: Callable[[SessionName, bool], None]) -> None:
        self._capacity = capacity
        self._on_left = on_left
        self._sessions: dict[SessionName, ShareSession] = {}
        self._of_group: dict[str, int] = {}  # how many there are
        self._of_connection: dict[Connection, list[ShareSession]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, name: SessionName, connection: Connection) -> ShareSession:
        """A new session in the place of any that the member had; ClientFault if there is no room.

        Records that the member holds stay its own.
        """
        self._forget(self._sessions.get(name))
        if len(self._sessions) >= self._capacity:
            if name.group_id not in self._of_group:
                self._on_left(name, True)
            raise ClientFault(
                Error.SHARE_SESSION_LIMIT_REACHED,
                f"{self._capacity} share sessions are open, see group.share.max.share.sessions",
            )
        session = self._sessions[name] = ShareSession(name, connection)
        self._of_group[name.group_id] = self._of_group.get(name.group_id, 0) + 1
        self._of_connection.setdefault(connection, []).append(session)
        connection.on_closed = lambda: self._on_closed(connection)
        return session

    def resume(self, name: SessionName, epoch: int) -> ShareSession:
        """The session that a request goes on with; ClientFault if it cannot."""
        session = self._sessions.get(name)
        if session is None:
            raise ClientFault(Error.SHARE_SESSION_NOT_FOUND)
        if epoch != FINAL_EPOCH:
            if session.epoch != epoch:
                raise ClientFault(
                    Error.INVALID_SHARE_SESSION_EPOCH,
                    f"epoch {session.epoch} was expected, {epoch} came",
                )
            session.epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        return session

    def close(self, session: ShareSession) -> None:
        """The member is gone, by its own word or with its connection."""
        if self._sessions.get(session.name) is session:
            self._forget(session)
            self._on_left(session.name, session.name.group_id not in self._of_group)

    def _on_closed(self, connection: Connection) -> None:
        for session in self._of_connection.pop(connection, []):
            self.close(session)

    def _forget(self, session: ShareSession | None) -> None:
        if session is None:
            return
        name = session.name
        del self._sessions[name]
        left = self._of_group[name.group_id] - 1
        if left:
            self._of_group[name.group_id] = left
        else:
            del self._of_group[name.group_id]
        siblings = self._of_connection.get(session.connection)
        if siblings is not None:
            siblings.remove(session)
            if not siblings:
                del self._of_connection[session.connection]
