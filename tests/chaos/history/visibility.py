"""What committed is seen, what aborted is not: the promises of read_committed."""

from __future__ import annotations

from collections.abc import Iterator

from tests.chaos.history.finding import Anomaly, Finding
from tests.chaos.history.index import Index
from tests.chaos.history.operation import Outcome


def aborted_reads(index: Index) -> Iterator[Finding]:
    """A poll returned a record whose transaction certainly did not commit."""
    for (key, value), readers in index.readers.items():
        sender = index.sender.get((key, value))
        if sender is not None and sender.outcome is Outcome.FAIL:
            others = [reader.process for reader in readers if reader is not sender]
            if others:
                detail = f"{others[0]} polled {value}, which {sender.process} aborted"
                yield Finding(Anomaly.ABORTED_READ, key, detail)


def precommitted_reads(index: Index) -> Iterator[Finding]:
    """A transaction polled what it had sent itself, which cannot have been committed by then."""
    for operation in index.history:
        if operation.sent and operation.polled:
            polled = {(record.key, record.value) for record in operation.polled}
            for key, _, value in operation.sent:
                if (key, value) in polled:
                    detail = f"{operation.process} polled {value} in the transaction that sent it"
                    yield Finding(Anomaly.PRECOMMITTED_READ, key, detail)


def lost_and_unseen(index: Index) -> Iterator[Finding]:
    """Committed records that no poll returned: passed over, or not reached by the end."""
    for (key, offset, value), sender in index.unread():
        known = f"{sender.process} committed {value}"
        if offset is not None and offset < index.last_seen.get(key, -1):
            detail = f"{known} at offset {offset}; polls reached {index.last_seen[key]}"
            yield Finding(Anomaly.LOST_WRITE, key, detail)
        else:
            yield Finding(Anomaly.UNSEEN, key, f"{known}; no poll returned it")
