"""A history on disk: one file of JSON lines per client process, readable after a kill -9.

    LINE    FIELDS                              WRITTEN
    begin   id, process, kind, began_ms, …      before the operation may have an effect
    commit  id                                  before a transaction asks to be committed
    end     id, outcome, ended_ms, sent, …      when its outcome is known

Each line is written by one unbuffered write, so a process that is killed leaves whole lines. An
operation without its end was cut off: a transaction that never asked to be committed has
failed for certain, of everything else nothing is known. Knows nothing of Kafka.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.chaos.history.operation import Kind, Operation, Outcome, Record

FOREVER_MS = 1 << 62


class Journal:
    """Writes the operations of one process."""

    def __init__(self, path: Path, process: str) -> None:
        self.process = process
        self._file = path.open("ab", buffering=0)
        self._next_id = 0

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def begin(
        self,
        kind: Kind,
        now_ms: int,
        *,
        sent: Sequence[Record] = (),
        polled: Sequence[Record] = (),
        keys: Sequence[str] = (),
        rebalanced: Sequence[str] = (),
        looked: Sequence[Record] = (),
    ) -> int:
        """Note what is about to be done; the answer names it in `commit` and `end`."""
        number = self._next_id
        self._next_id += 1
        lists = {"sent": sent, "polled": polled, "keys": keys, "rebalanced": rebalanced}
        lists["looked"] = looked
        self._write(
            {
                "line": "begin",
                "id": number,
                "process": self.process,
                "kind": kind.value,
                "began_ms": now_ms,
                **{name: list(items) for name, items in lists.items() if items},
            }
        )
        return number

    def commit(self, number: int) -> None:
        """From here on the transaction may have been committed."""
        self._write({"line": "commit", "id": number})

    def end(
        self, number: int, outcome: Outcome, now_ms: int, *, sent: Sequence[Record] | None = None
    ) -> None:
        """Note how it ended; `sent` now with the offsets that were acknowledged."""
        fields: dict[str, Any] = {"line": "end", "id": number, "outcome": outcome.value}
        fields["ended_ms"] = now_ms
        if sent is not None:
            fields["sent"] = list(sent)
        self._write(fields)

    def note(
        self,
        kind: Kind,
        began_ms: int,
        now_ms: int,
        *,
        polled: Sequence[Record] = (),
        keys: Sequence[str] = (),
        rebalanced: Sequence[str] = (),
        looked: Sequence[Record] = (),
    ) -> None:
        """A poll, an assignment, a rebalance or a look: it has happened when it is written down."""
        number = self.begin(
            kind, began_ms, polled=polled, keys=keys, rebalanced=rebalanced, looked=looked
        )
        self.end(number, Outcome.OK, now_ms)

    def _write(self, fields: dict[str, Any]) -> None:
        self._file.write(json.dumps(fields, separators=(",", ":")).encode() + b"\n")


def load(paths: Iterable[Path]) -> list[Operation]:
    """The history in these journals; a last line that was cut off is left out."""
    operations = [operation for path in paths for operation in _load_one(path)]
    operations.sort(key=lambda operation: operation.ended_ms)
    return operations


def _load_one(path: Path) -> list[Operation]:
    """The operations of one journal, in their order."""
    begun: dict[int, dict[str, Any]] = {}
    asked_to_commit: set[int] = set()
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        fields = json.loads(line)
        number = fields.pop("id")
        match fields.pop("line"):
            case "begin":
                begun[number] = fields
            case "commit":
                asked_to_commit.add(number)
            case "end":
                begun[number].update(fields)
    for number, fields in begun.items():
        if "outcome" not in fields:
            hopeless = fields["kind"] == Kind.TXN and number not in asked_to_commit
            fields["outcome"] = Outcome.FAIL if hopeless else Outcome.INFO
            fields["ended_ms"] = FOREVER_MS
    return [Operation.from_json(fields) for fields in begun.values()]
