"""Problem B: partitions and replicas that can be had, and some that cannot.

More partitions later: no data moves. Two replicas of a partition never share a broker, so nine
replicas on five brokers are refused, and with acks=all a record counts when all replicas that were
in sync have it.
"""

from __future__ import annotations

from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.reading import read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.cluster.placement import assign_replicas
from headrace.errors import ClientFault, Error
from headrace.testing import Broker

TOPIC: Final = "problem-b"
FIVE_BROKERS: Final = dict.fromkeys(range(5))


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    where = ("--bootstrap-server", servers)
    say("Problem B: from three partitions to six, and no record moves")
    create_topic(servers, TOPIC, partitions=3)
    send(servers, TOPIC, [Draft(str(n), str(n)) for n in range(60)])
    before = read_topic(servers, TOPIC)
    shell("kafka-topics", *where, "--alter", "--topic", TOPIC, "--partitions", "6")
    expect(read_topic(servers, TOPIC), before, "all 60 records are where they were")

    say("Replicas of a partition are on different brokers")
    placed = assign_replicas(FIVE_BROKERS, 10, 4, start_index=0, shift=0)
    for number, replicas in enumerate(placed[:5]):
        print(f"partition {number}: leader {replicas[0]}, followers {replicas[1:]}")
    check(all(len(set(each)) == 4 for each in placed), "four replicas are on four of five brokers")
    try:
        assign_replicas(FIVE_BROKERS, 1, 9, start_index=0, shift=0)
        refused = False
    except ClientFault as fault:
        refused = fault.error is Error.INVALID_REPLICATION_FACTOR
        print(fault)
    check(refused, "nine replicas on five brokers are refused")
    words = ("--create", "--topic", "problem-b-9", "--partitions", "1")
    shell("kafka-topics", *where, *words, "--replication-factor", "9", code=1)
    check("problem-b-9" not in shell("kafka-topics", *where, "--list"), "and nothing was created")


if __name__ == "__main__":
    on_broker(story)
