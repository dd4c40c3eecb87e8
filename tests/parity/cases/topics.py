"""`kafka-topics`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import HELP, Case
from tests.parity.stage import committed, file, topic

ORDERS = topic("orders", 3)
PAYMENTS = topic("payments", 1, config={"retention.ms": "1000", "cleanup.policy": "compact"})


def case(words: str, **more: Any) -> Case:
    return Case("kafka-topics", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    # -- create ------------------------------------------------------------------------------------
    case("--create --topic orders", then="--describe"),
    case("--create --topic orders --partitions 3 --replication-factor 1", then="--describe"),
    case("--create --topic orders --partitions=2", then="--describe"),
    case("--create --topic orders --replica-assignment 1,1,1", then="--describe"),
    case("--create --topic orders --config retention.ms=1000 --config max.message.bytes=64000",
         then="--describe --topic orders"),
    case("--create --topic orders.of_today", then="--list"),
    case("--create --topic orders", name="create what exists", setup=(ORDERS,)),
    case("--create --topic orders --if-not-exists", setup=(ORDERS,), then="--describe"),
    case("--create --topic a.b", name="create what collides", setup=(topic("a_b"),)),
    case("--create --topic orders --replication-factor 2"),
    case("--create --topic orders --replication-factor 0"),
    case("--create --topic orders --replication-factor 40000"),
    case("--create --topic orders --partitions 0"),
    case("--create --topic orders --partitions -3"),
    case("--create --topic orders --partitions three"),
    case("--create --topic orders --config nonsense=1"),
    case("--create --topic orders --config retention.ms=soon"),
    case("--create --topic orders --config retention.ms"),
    case("--create --topic 'no spaces'"),
    case("--create --topic .."),
    case("--create --topic orders --replica-assignment 1:1"),
    case("--create --topic orders --replica-assignment 1,1:2"),
    case("--create --topic orders --replica-assignment 7"),
    case("--create --topic orders --replica-assignment 1 --partitions 1"),
    case("--create"),
    case("--create --topic orders --if-exists"),
    # -- list --------------------------------------------------------------------------------------
    case("--list"),
    case("--list", name="list several", setup=(PAYMENTS, ORDERS, topic("a.b"))),
    case("--list --topic orders", setup=(ORDERS, PAYMENTS)),
    case("--list --topic 'o.*'", setup=(ORDERS, PAYMENTS)),
    case("--list --topic orders,payments", setup=(ORDERS, PAYMENTS, topic("other"))),
    case("--list --topic 'o['", setup=(ORDERS,)),
    case("--list --exclude-internal", setup=(ORDERS, committed("g", {("orders", 0): 0}))),
    case("--list --partitions 3"),
    # -- describe ----------------------------------------------------------------------------------
    case("--describe"),
    case("--describe", name="describe several", setup=(PAYMENTS, ORDERS)),
    case("--describe --topic orders", setup=(ORDERS,)),
    case("--describe --topic payments", setup=(PAYMENTS,)),
    case("--describe --topic 'p.*,o.*'", setup=(ORDERS, PAYMENTS)),
    case("--describe --topic absent"),
    case("--describe --topic absent --if-exists"),
    case("--describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ"),
    case("--describe --topics-with-overrides", setup=(ORDERS, PAYMENTS)),
    case("--describe --under-replicated-partitions", setup=(ORDERS,)),
    case("--describe --unavailable-partitions", setup=(ORDERS,)),
    case("--describe --under-min-isr-partitions", setup=(ORDERS,)),
    case("--describe --at-min-isr-partitions --topic orders", setup=(ORDERS,)),
    case("--describe --topics-with-overrides --unavailable-partitions", setup=(ORDERS,)),
    case("--describe --partition-size-limit-per-response 2", setup=(ORDERS,)),
    case("--describe --topic orders", name="describe on three brokers", brokers=3,
         setup=(topic("orders", replicas=[[0, 1], [2, 0]]),)),
    case("--describe --at-min-isr-partitions", name="at min isr", brokers=3,
         setup=(topic("orders", replicas=[[0, 1]], config={"min.insync.replicas": "2"}),)),
    case("--describe --under-min-isr-partitions", name="under min isr", brokers=3,
         setup=(topic("orders", replicas=[[0, 1]], config={"min.insync.replicas": "3"}),)),
    # -- alter -------------------------------------------------------------------------------------
    case("--alter --topic orders --partitions 5", setup=(ORDERS,), then="--describe"),
    case("--alter --topic orders --partitions 4 --replica-assignment 1,1,1,1", setup=(ORDERS,),
         then="--describe"),
    case("--alter --topic orders --partitions 3", setup=(ORDERS,)),
    case("--alter --topic orders --partitions 2", setup=(ORDERS,)),
    case("--alter --topic absent --partitions 2"),
    case("--alter --topic absent --partitions 2 --if-exists"),
    case("--alter --topic orders", setup=(ORDERS,)),
    case("--alter --topic orders --config retention.ms=1", setup=(ORDERS,)),
    case("--alter --topic orders --partitions 4 --replication-factor 1", setup=(ORDERS,)),
    # -- delete ------------------------------------------------------------------------------------
    case("--delete --topic orders", setup=(ORDERS, PAYMENTS), then="--list"),
    case("--delete --topic 'o.*,p.*'", setup=(ORDERS, PAYMENTS, topic("third")), then="--list"),
    case("--delete --topic absent"),
    case("--delete --topic absent --if-exists"),
    case("--delete"),
    # -- how it is called --------------------------------------------------------------------------
    case("--list --describe"),
    case("--li", setup=(ORDERS,), differs="beginnings of names, as Kafka took them until 2.x"),
    case("-list", setup=(ORDERS,)),
    case("--bogus"),
    case("--list --command-config {folder}/client.properties", setup=(
        ORDERS, file("client.properties", "client.id=parity\n"))),
    Case("kafka-topics", "--list"),
    Case("kafka-topics", "--help", differs=HELP),
    Case("kafka-topics", ""),
    Case("kafka-topics", "--version", differs="each tells its own version"),
    Case("kafka-topics", "--list --bootstrap-server=127.0.0.1:{port}", setup=(ORDERS,)),
]  # fmt: skip
