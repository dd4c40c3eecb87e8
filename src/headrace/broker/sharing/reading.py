"""The batches of a log as share partitions choose among them.

Only headers are read here; records leave as a range of the log's file, as those of a fetch do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.errors import ClientFault, Error
from headrace.log import LogSlice
from headrace.log.scan import walk
from headrace.replica.sharing.choosing import Choice, LogBatch, Wish

if TYPE_CHECKING:
    from headrace.log.txn_index import AbortedTransaction
    from headrace.replica.partition import Partition
    from headrace.replica.sharing.partition import SharePartition
    from headrace.replica.sharing.states import ShareLimits


def find_records(
    partition: Partition,
    share: SharePartition,
    wish: Wish,
    max_bytes: int,
    limits: ShareLimits,
    *,
    committed_only: bool,
    at_least_one: bool,
) -> tuple[Choice, LogSlice] | None:
    """What a member could acquire, and where it lies; None if there is nothing now."""
    offset = share.next_offset(limits)
    if offset is None:
        return None
    try:
        found = partition.read(
            offset, max_bytes, committed_only=committed_only, at_least_one=at_least_one
        )
    except ClientFault as fault:
        if fault.error is not Error.OFFSET_OUT_OF_RANGE:
            raise
        return None  # behind the end of a log that was cut: there is nothing until it is reached
    if found.file is None:
        return None
    aborted: list[AbortedTransaction] = []
    if committed_only:
        log = partition.log
        aborted = log.aborted_transactions(offset, log.last_stable_offset)
    choice = share.choose(offset, _batches(found, aborted), wish, limits)
    if not choice.acquired and not choice.gaps:
        return None
    records = LogSlice(found.file, choice.position, choice.size, choice.base_offset)
    return choice, records


def _batches(found: LogSlice, aborted: list[AbortedTransaction]) -> Iterator[LogBatch]:
    """The whole batches of a slice."""
    assert found.file is not None
    end = found.position + found.size
    for position, header in walk(found.file, found.position, end):
        if position + header.size > end:
            return
        hidden = header.is_control or (
            header.is_transactional
            and any(
                each.producer_id == header.producer_id
                and each.first_offset <= header.base_offset <= each.last_offset
                for each in aborted
            )
        )
        yield LogBatch(header.base_offset, header.last_offset, position, header.size, hidden)
