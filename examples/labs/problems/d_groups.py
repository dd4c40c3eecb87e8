"""Problem D: two groups on three partitions, whose last offsets are 12, 15 and 20.

Who has which partition, how many offsets are committed and in which bounds, what happens when a
consumer dies, what a batch reads, and what else than a consumer may cause a rebalance.
"""

from __future__ import annotations

from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.reading import Member, await_split, committed, poll_until
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "problem-d"
LAST_OFFSETS: Final = (12, 15, 20)


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    create_topic(servers, TOPIC, partitions=3)
    for partition, last in enumerate(LAST_OFFSETS):
        send(servers, TOPIC, [Draft(str(n), partition=partition) for n in range(last + 1)])
    say("Problem D: group g0 has c0, c1 and c2, group g1 has c3 and c4")
    # A member learns of new partitions when it asks for the topic's metadata.
    fresh = {"topic.metadata.refresh.interval.ms": 500}
    g0 = [Member(servers, "problem-d-g0", TOPIC, f"c{n}", **fresh) for n in range(3)]
    g1 = [Member(servers, "problem-d-g1", TOPIC, f"c{n}", **fresh) for n in (3, 4)]
    await_split(g0, 3)
    await_split(g1, 3)
    expect([each.partitions for each in g0], [[0], [1], [2]], "g0: one partition each")
    expect([each.partitions for each in g1], [[0, 1], [2]], "g1: c3 has p0 and p1, c4 has p2")
    everyone = [*g0, *g1]
    total = 2 * sum(last + 1 for last in LAST_OFFSETS)
    poll_until(everyone, lambda: sum(len(m.records) for m in everyone) >= total, "all is read")
    for member in everyone:
        member.consumer.commit(asynchronous=False)
    offsets = [committed(servers, group, TOPIC) for group in ("problem-d-g0", "problem-d-g1")]
    expect(sum(map(len, offsets)), 6, "six offsets are committed, one for each group and partition")
    ends = {n: last + 1 for n, last in enumerate(LAST_OFFSETS)}
    expect(offsets, [ends, ends], "each at most one more than the last offset: 13, 16 and 21")

    say("c1 dies")
    g0.pop(1).leave()
    await_split(g0, 3)
    owner = next(each for each in g0 if 1 in each.partitions)
    check(owner.name in ("c0", "c2"), f"{owner.name} has p1 now")
    poll_until(g1, lambda: True, "g1 goes on")
    expect([each.partitions for each in g1], [[0, 1], [2]], "g1 is as it was")

    say("A batch of k from committed x: offsets x to x + k - 1")
    for member in g0:
        member.records.clear()
    send(servers, TOPIC, [Draft("later", partition=1) for _ in range(4)])
    poll_until(g0, lambda: len(owner.records) >= 4, "four more")
    expect([record.offset for record in owner.records], [16, 17, 18, 19], "16 to 19")

    say("Not only consumers cause a rebalance: more partitions do")
    where = ("--bootstrap-server", servers)
    shell("kafka-topics", *where, "--alter", "--topic", TOPIC, "--partitions", "4")
    await_split(g1, 4)
    expect([each.partitions for each in g1], [[0, 1], [2, 3]], "c4 has the new one as well")
    for member in [*g0, *g1]:
        member.leave()


if __name__ == "__main__":
    on_broker(story)
