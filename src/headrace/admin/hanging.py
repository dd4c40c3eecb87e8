"""Transactions that are open in a log and that no coordinator will ever end.

They hold back the last stable offset, so a reader of committed records waits for ever, and nothing
behind them is compacted. A log and a coordinator are asked one after the other, hence the second
look at the log: a transaction that ended in between is not hanging.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.admin.transactions import (
    Described,
    ProducerState,
    describe_producers,
    describe_transaction,
    list_transactions,
)


def find_hanging(
    admin: Admin,
    topics: Iterable[str],
    *,
    older_than_ms: int,
    now_ms: int,
    began: Callable[[int], object],
) -> list[ProducerState]:
    """The open transactions in these topics that no coordinator knows, oldest first.

    `began` is called with the number of topics that are done, before each of them.
    """
    candidates: list[ProducerState] = []
    for done, name in enumerate(topics):
        began(done)
        (topic,) = admin.topics([name])
        numbers = [each.number for each in topic.partitions]
        producers = describe_producers(admin, name, numbers)
        candidates += open_for(producers, older_than_ms=older_than_ms, now_ms=now_ms)
    orphans = orphans_among(candidates, look_up(admin, {each.producer_id for each in candidates}))
    hanging = [each for each in orphans if _is_still_open(admin, each)]
    return sorted(hanging, key=lambda each: (each.last_timestamp_ms or 0, each))


def open_for(
    producers: Iterable[ProducerState], *, older_than_ms: int, now_ms: int
) -> list[ProducerState]:
    """Those with an open transaction to which nothing was added for so long."""
    return [
        each
        for each in producers
        if each.start_offset is not None and now_ms - (each.last_timestamp_ms or 0) >= older_than_ms
    ]


def look_up(admin: Admin, producer_ids: Collection[int]) -> dict[int, Described]:
    """The transactional ids behind producer ids, described; unknown producers are missing."""
    if not producer_ids:
        return {}
    described = {}
    for listed in list_transactions(admin, producer_ids=sorted(producer_ids)):
        try:
            described[listed.producer_id] = describe_transaction(admin, listed.transactional_id)
        except Refused:
            continue  # It has expired since it was listed.
    return described


def orphans_among(
    candidates: Iterable[ProducerState], known: Mapping[int, Described]
) -> list[ProducerState]:
    """Those whose coordinator does not count the partition among its open transaction's."""
    return [
        each
        for each in candidates
        if each.producer_id not in known
        or (each.topic, each.partition) not in known[each.producer_id].partitions
    ]


def _is_still_open(admin: Admin, producer: ProducerState) -> bool:
    return any(
        now.producer_id == producer.producer_id and now.start_offset == producer.start_offset
        for now in describe_producers(admin, producer.topic, [producer.partition])
    )
