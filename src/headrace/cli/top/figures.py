"""From two looks at a cluster to what a person wants to know: rates, lag, who is behind. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from enum import StrEnum
from typing import Any, Final, NamedTuple

from headrace.cli.top.sampling import GroupSample, Sample
from headrace.types import TopicPartition

BROKER_COLUMNS: Final = ("broker", "address", "rack", "leads", "replicas", "records_s", "size")
TOPIC_COLUMNS: Final = ("topic", "partitions", "under_replicated", "offline", "records_s", "size")
GROUP_COLUMNS: Final = ("group", "state", "partitions", "lag", "records_s", "caught_up_in_s")

Row = dict[str, Any]


class Sort(StrEnum):
    """What `--sort` takes: the busiest, the furthest behind, or by name."""

    RATE = "rate"
    LAG = "lag"
    NAME = "name"


class Figures(NamedTuple):
    """Three tables and the cluster's head."""

    cluster_id: str
    controller: int | None
    interval_s: float
    brokers: list[Row]
    topics: list[Row]
    groups: list[Row]


def compare(before: Sample, now: Sample, sort: Sort, *, internal: bool) -> Figures:
    """What happened between two samples, per second; tables are sorted, ties by name."""
    elapsed_s = max(now.at_s - before.at_s, 1e-9)
    written = {
        where: max(end - before.ends.get(where, end), 0) / elapsed_s
        for where, end in now.ends.items()
    }
    return Figures(
        cluster_id=now.cluster.cluster_id,
        controller=now.cluster.controller if now.cluster.controller >= 0 else None,
        interval_s=round(elapsed_s, 3),
        brokers=_brokers(now, written),
        topics=_sorted(_topics(now, written, internal=internal), "topic", sort),
        groups=_sorted(_groups(before, now, elapsed_s), "group", sort),
    )


def _brokers(now: Sample, written: dict[TopicPartition, float]) -> list[Row]:
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    rates: defaultdict[int, float] = defaultdict(float)
    for topic in now.topics:
        for each in topic.partitions:
            replicas.update(each.replicas)
            if each.leader is not None:
                leads[each.leader] += 1
                rates[each.leader] += written.get(TopicPartition(topic.name, each.number), 0)
    known = {broker.id: broker for broker in now.cluster.brokers}
    return [
        {
            "broker": broker_id,
            "address": f"{known[broker_id].host}:{known[broker_id].port}"
            if broker_id in known
            else "down",
            "rack": known[broker_id].rack if broker_id in known else None,
            "leads": leads[broker_id],
            "replicas": replicas[broker_id],
            "records_s": round(rates[broker_id], 1),
            "size": sum(now.sizes[broker_id].values()) if now.sizes.get(broker_id) else None,
        }
        for broker_id in sorted({*known, *replicas})
    ]


def _topics(now: Sample, written: dict[TopicPartition, float], *, internal: bool) -> list[Row]:
    rows: list[Row] = []
    for topic in now.topics:
        if topic.is_internal and not internal:
            continue
        places = [TopicPartition(topic.name, each.number) for each in topic.partitions]
        sizes = [
            now.sizes.get(each.leader, {}).get(where)
            for where, each in zip(places, topic.partitions, strict=True)
            if each.leader is not None
        ]
        told = [size for size in sizes if size is not None]
        rows.append(
            {
                "topic": topic.name,
                "partitions": len(topic.partitions),
                "under_replicated": sum(
                    len(each.isr) < len(each.replicas) for each in topic.partitions
                ),
                "offline": sum(each.leader is None for each in topic.partitions),
                "records_s": round(sum(written.get(where, 0) for where in places), 1),
                "size": sum(told) if told else None,
            }
        )
    return rows


def _groups(before: Sample, now: Sample, elapsed_s: float) -> list[Row]:
    earlier = {each.group: each for each in before.groups}
    return [_group(each, earlier.get(each.group), now, elapsed_s) for each in now.groups]


def _group(each: GroupSample, earlier: GroupSample | None, now: Sample, elapsed_s: float) -> Row:
    lag = sum(
        max(now.ends[where] - offset, 0)
        for where, offset in each.committed.items()
        if where in now.ends
    )
    progress = 0
    if earlier is not None:
        progress = sum(
            max(offset - earlier.committed.get(where, offset), 0)
            for where, offset in each.committed.items()
        )
    rate = progress / elapsed_s
    return {
        "group": each.group,
        "state": each.state,
        "partitions": len(each.committed),
        "lag": lag,
        "records_s": round(rate, 1),
        "caught_up_in_s": 0 if not lag else (round(lag / rate) if rate else None),
    }


def _sorted(rows: list[Row], name: str, sort: Sort) -> list[Row]:
    if sort is Sort.NAME:
        return sorted(rows, key=lambda row: str(row[name]))
    first, second = ("lag", "records_s") if sort is Sort.LAG else ("records_s", "lag")
    return sorted(rows, key=lambda row: (-row.get(first, 0), -row.get(second, 0), str(row[name])))
