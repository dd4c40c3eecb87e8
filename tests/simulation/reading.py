"""What a consumer with `isolation.level=read_committed` makes of a log, as clients do it.

The broker says where the stable part ends and which transactions in it were aborted; to leave their
records out is the client's part.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from headrace.log import PartitionLog
from headrace.records.batch import split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate

_MOST_BYTES: Final = 1 << 20


class VisibleRecord(NamedTuple):
    offset: int
    value: bytes


def read_committed(log: PartitionLog, offset: int) -> list[VisibleRecord]:
    """Every record from `offset` to the last stable offset that is no part of an abort."""
    end = log.last_stable_offset
    aborted = deque(log.aborted_transactions(offset, end))
    aborting: set[int] = set()
    found: list[VisibleRecord] = []
    position = offset
    while position < end:
        data = memoryview(log.read(position, _MOST_BYTES, up_to=end).data())
        for header, batch in split_batches(data, allow_partial_tail=True):
            position = header.next_offset
            while aborted and aborted[0].first_offset <= header.last_offset:
                aborting.add(aborted.popleft().producer_id)
            if header.is_control:
                marker = next((parse_control(each) for each in iterate(header, batch)), None)
                if marker is not None and marker.is_abort:
                    aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                found += [
                    VisibleRecord(record.offset, bytes(record.value or b""))
                    for record in iterate(header, batch)
                    if record.offset >= offset
                ]
        if not data:
            break
    return found
