"""Transactions that are open in a log and that no coordinator will ever end.

They hold back the last stable offset, so a reader of committed records waits for ever, and nothing
behind them is compacted. A log and a coordinator are asked one after the other, hence the second
look at the log: a transaction that ended in between is not hanging.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping

from headrace.cli.administration.transactions import (
    Described,
    ProducerState,
    describe_producers,
    describe_transaction,
    list_transactions,
)
from headrace.cli.direct import Brokers
from headrace.cli.failures import Failure
from headrace.cli.progress import Progress


def find_hanging(
    brokers: Brokers, topics: Iterable[str], *, older_than_ms: int, now_ms: int
) -> list[ProducerState]:
    """The open transactions in these topics that no coordinator knows, oldest first."""
    names = list(topics)
    candidates: list[ProducerState] = []
    with Progress("asking leaders", len(names), watched=sys.stderr.isatty()) as progress:
        for done, topic in enumerate(names):
            progress.update(done)
            producers = describe_producers(brokers, topic, sorted(brokers.leaders(topic)))
            candidates += open_for(producers, older_than_ms=older_than_ms, now_ms=now_ms)
    orphans = orphans_among(candidates, look_up(brokers, {each.producer_id for each in candidates}))
    hanging = [each for each in orphans if _is_still_open(brokers, each)]
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


def look_up(brokers: Brokers, producer_ids: Collection[int]) -> dict[int, Described]:
    """The transactional ids behind producer ids, described; unknown producers are missing."""
    if not producer_ids:
        return {}
    described = {}
    for listed in list_transactions(brokers, producer_ids=sorted(producer_ids)):
        try:
            described[listed.producer_id] = describe_transaction(brokers, listed.transactional_id)
        except Failure:
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


def _is_still_open(brokers: Brokers, producer: ProducerState) -> bool:
    return any(
        now.producer_id == producer.producer_id and now.start_offset == producer.start_offset
        for now in describe_producers(brokers, producer.topic, [producer.partition])
    )
