"""Many members join one group at the same moment, each over a connection of its own."""

from __future__ import annotations

import threading
from collections import Counter

from headrace.errors import Error
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import (
    JOIN_VERSION,
    SYNC_VERSION,
    described,
    find_coordinator,
    heartbeat,
    join_request,
    sync_request,
)
from tests.clients.raw import Connection

MEMBERS = 30
ROUNDS = 200


class Joiner(threading.Thread):
    """A member that joins as often as it is told to, and keeps every error it meets."""

    def __init__(self, bootstrap: str, group: str, together: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self._servers = bootstrap
        self._group = group
        self._together = together
        self.stop = threading.Event()
        self.met: Counter[Error] = Counter()

    def run(self) -> None:
        with Connection(self._servers) as connection:
            member_id = ""
            self._together.wait(20)
            for _ in range(ROUNDS):
                joined = connection.ask(join_request(self._group, member_id), JOIN_VERSION)
                self.met[Error(joined.error_code)] += 1
                member_id = joined.member_id
                if joined.error_code == Error.NONE and not self._work(connection, joined):
                    return

    def _work(self, connection: Connection, joined: object) -> bool:
        """Live in one generation; returns whether to join the next."""
        shares = {each.member_id: b"" for each in joined.members}  # type: ignore[attr-defined]
        request = sync_request(self._group, joined, shares)
        synced = Error(connection.ask(request, SYNC_VERSION).error_code)
        self.met[synced] += 1
        while synced == Error.NONE and not self.stop.is_set():
            synced = heartbeat(connection, self._group, joined)
            self.met[synced] += 1
        return not self.stop.is_set()


def test_nobody_who_joins_is_unknown(bootstrap: str, connection: Connection, group: str) -> None:
    """UNKNOWN_MEMBER_ID never appears; all of them end in one stable generation."""
    find_coordinator(connection, group)
    together = threading.Barrier(MEMBERS)
    joiners = [Joiner(bootstrap, group, together) for _ in range(MEMBERS)]
    for joiner in joiners:
        joiner.start()

    def complete() -> bool:
        found = described(connection, group)
        return found.group_state == "Stable" and len(found.members) == MEMBERS

    eventually(complete, f"a stable group of {MEMBERS}")
    for joiner in joiners:
        joiner.stop.set()
    for joiner in joiners:
        joiner.join(20)
        assert not joiner.is_alive()
    met = sum((joiner.met for joiner in joiners), Counter())
    assert met.keys() <= {Error.NONE, Error.MEMBER_ID_REQUIRED, Error.REBALANCE_IN_PROGRESS}
    assert met[Error.MEMBER_ID_REQUIRED] == MEMBERS
