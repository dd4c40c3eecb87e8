"""What clients did and saw: the data that the history checker reasons about.

A history is a list of operations in the order in which they ended. A key is one partition,
written ``topic/partition``; every value is sent by one operation only, which is what makes the
checker's conclusions possible. Knows nothing of Kafka clients, files or anomalies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple


class Kind(StrEnum):
    """What was attempted. A consumer's life is assign or subscribe, then polls and rebalances."""

    SEND = "send"  # records outside a transaction
    POLL = "poll"
    TXN = "txn"  # polls and sends that commit or abort together
    ASSIGN = "assign"  # the consumer chose `keys` itself and starts anew there
    SUBSCRIBE = "subscribe"  # the group decides; each decision is a rebalance
    REBALANCE = "rebalance"  # from now on the consumer holds `keys`
    CRASH = "crash"  # the process ended, whether killed or by itself
    LOOK = "look"  # offsets that may only grow, as they stood at a moment


class Outcome(StrEnum):
    """What is known of an operation's effect."""

    OK = "ok"  # acknowledged
    FAIL = "fail"  # certainly without effect: aborted, or never committed
    INFO = "info"  # nobody knows


class Record(NamedTuple):
    """One record as its sender or reader knows it; a sender may never learn the offset."""

    key: str
    offset: int | None
    value: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that one client did. A process is one life of a client: a restart is a new one."""

    process: str
    kind: Kind
    outcome: Outcome
    began_ms: int
    ended_ms: int
    sent: tuple[Record, ...] = ()
    polled: tuple[Record, ...] = ()  # in the order in which they were handed out
    keys: tuple[str, ...] = ()  # of assign, subscribe and rebalance
    rebalanced: tuple[str, ...] = ()  # keys that changed hands while the operation polled
    looked: tuple[Record, ...] = ()  # offsets that were looked at; the value says which offset

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their default, as JSON knows them."""
        fields: dict[str, Any] = {
            "process": self.process,
            "kind": self.kind.value,
            "outcome": self.outcome.value,
            "began_ms": self.began_ms,
            "ended_ms": self.ended_ms,
        }
        for name in ("sent", "polled", "keys", "rebalanced", "looked"):
            if items := getattr(self, name):
                fields[name] = [list(item) if isinstance(item, Record) else item for item in items]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Operation:
        return cls(
            process=fields["process"],
            kind=Kind(fields["kind"]),
            outcome=Outcome(fields["outcome"]),
            began_ms=fields["began_ms"],
            ended_ms=fields["ended_ms"],
            sent=tuple(Record(*item) for item in fields.get("sent", ())),
            polled=tuple(Record(*item) for item in fields.get("polled", ())),
            keys=tuple(fields.get("keys", ())),
            rebalanced=tuple(fields.get("rebalanced", ())),
            looked=tuple(Record(*item) for item in fields.get("looked", ())),
        )
