"""Histories that a faultless log could have produced, drawn at random.

A model of a few partitions with transactions that interleave, abort, crash and lose their
answers; consumers read what is committed below the first open transaction, go back after an
abort, and one reads everything at the end. Whatever it draws is legal.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.chaos.history.operation import Kind, Operation, Outcome, Record

KEYS = ("in/0", "in/1", "out/0")
CLIENTS = ("a", "b", "c")


@dataclass
class _Slot:
    """One offset: a value, or a transaction's marker; `state` of whose sender is shared."""

    value: str | None
    state: list[str]  # one of "open", "committed", "aborted", the same list for a transaction


@dataclass
class _Client:
    name: str
    positions: dict[str, int] = field(default_factory=dict)
    state: list[str] | None = None  # of the open transaction
    sent: list[Record] = field(default_factory=list)
    polled: list[Record] = field(default_factory=list)
    start: dict[str, int] = field(default_factory=dict)
    began_ms: int = 0
    lives: int = 0


class LegalHistory:
    """Draws a history step by step; `history` is legal after each."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._now_ms = 0
        self._values = 0
        self._log: dict[str, list[_Slot]] = {key: [] for key in KEYS}
        self._clients = [_Client(name) for name in CLIENTS]
        self.history: list[Operation] = []

    def draw(self, steps: int) -> list[Operation]:
        for client in self._clients:
            self._assign(client)
        for _ in range(steps):
            client = self._rng.choice(self._clients)
            if client.state is None:
                self._rng.choice((self._send, self._poll, self._begin))(client)
            else:
                self._rng.choice((self._send_inside, self._send_inside, self._finish))(client)
        for client in self._clients:
            if client.state is not None:
                self._finish(client)
        reader = _Client("final")
        self._assign(reader)
        self._note(reader, Kind.POLL, Outcome.OK, polled=self._read(reader, most=1 << 30))
        return self.history

    def _tick(self) -> int:
        self._now_ms += self._rng.randint(0, 20)
        return self._now_ms

    def _note(
        self,
        client: _Client,
        kind: Kind,
        outcome: Outcome,
        *,
        sent: list[Record] | None = None,
        polled: list[Record] | None = None,
        began_ms: int | None = None,
        keys: tuple[str, ...] = (),
    ) -> None:
        began_ms = self._tick() if began_ms is None else began_ms
        process = f"{client.name}{client.lives}"
        records = tuple(sent or ()), tuple(polled or ())
        self.history.append(
            Operation(process, kind, outcome, began_ms, self._tick(), *records, keys)
        )

    def _assign(self, client: _Client) -> None:
        client.positions = dict.fromkeys(KEYS, 0)
        self._note(client, Kind.ASSIGN, Outcome.OK, keys=KEYS)

    def _append(self, key: str, state: list[str]) -> Record:
        self._values += 1
        record = Record(key, len(self._log[key]), f"v{self._values}")
        self._log[key].append(_Slot(record.value, state))
        return record

    def _read(self, client: _Client, most: int) -> list[Record]:
        """What is committed below the first open transaction, from the client's positions."""
        found: list[Record] = []
        for key, slots in self._log.items():
            while client.positions[key] < len(slots) and len(found) < most:
                slot = slots[client.positions[key]]
                if slot.state[0] == "open":
                    break
                if slot.value is not None and slot.state[0] == "committed":
                    found.append(Record(key, client.positions[key], slot.value))
                client.positions[key] += 1
        return found

    def _send(self, client: _Client) -> None:
        """Outside a transaction: acknowledged, refused, or without an answer."""
        fate = self._rng.choice((Outcome.OK, Outcome.OK, Outcome.INFO, Outcome.FAIL))
        landed = fate is Outcome.OK or (fate is Outcome.INFO and self._rng.random() < 0.5)
        sent: list[Record] = []
        for _ in range(self._rng.randint(1, 3)):
            if landed:
                record = self._append(self._rng.choice(KEYS), ["committed"])
            else:
                self._values += 1
                record = Record(self._rng.choice(KEYS), None, f"v{self._values}")
            sent.append(record if fate is Outcome.OK else record._replace(offset=None))
        self._note(client, Kind.SEND, fate, sent=sent)

    def _poll(self, client: _Client) -> None:
        polled = self._read(client, self._rng.randint(0, 8))
        self._note(client, Kind.POLL, Outcome.OK, polled=polled)

    def _begin(self, client: _Client) -> None:
        client.began_ms = self._tick()
        client.start = dict(client.positions)
        client.state = ["open"]
        client.sent = []
        client.polled = self._read(client, self._rng.randint(0, 5))

    def _send_inside(self, client: _Client) -> None:
        assert client.state is not None
        record = self._append(self._rng.choice(KEYS), client.state)
        lost_answer = self._rng.random() < 0.1
        client.sent.append(record._replace(offset=None) if lost_answer else record)

    def _finish(self, client: _Client) -> None:
        assert client.state is not None
        outcome = self._rng.choice((Outcome.OK, Outcome.OK, Outcome.FAIL, Outcome.INFO))
        committed = outcome is Outcome.OK or (outcome is Outcome.INFO and self._rng.random() < 0.5)
        client.state[0] = "committed" if committed else "aborted"
        for key in {record.key for record in client.sent}:
            self._log[key].append(_Slot(None, client.state))
        client.state = None
        self._note(
            client,
            Kind.TXN,
            outcome,
            sent=client.sent,
            polled=client.polled,
            began_ms=client.began_ms,
        )
        if outcome is Outcome.FAIL:
            client.positions = client.start
        elif outcome is Outcome.INFO:
            self._note(client, Kind.CRASH, Outcome.OK)
            client.lives += 1
            self._assign(client)
