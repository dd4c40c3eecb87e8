"""`kafka-configs`."""

from __future__ import annotations

from typing import Any

from headrace.admin.settings import Resource
from tests.parity.admin_steps import limits, settings
from tests.parity.case import HELP, Case
from tests.parity.stage import committed, file, topic

ORDERS = topic("orders", 2)
PAYMENTS = topic("payments", config={"retention.ms": "1000", "cleanup.policy": "compact"})
ALICE = limits({"user": "alice"}, {"consumer_byte_rate": 1.5e7})
NOBODY = limits({"user": "alice"})
DEFAULT_CLIENT = limits({"client-id": None}, {"request_percentage": 12.5})
ALICES_APP = limits({"user": "alice", "client-id": "app"}, {"producer_byte_rate": 10.0})
LOCALHOST = limits({"ip": "127.0.0.1"}, {"connection_creation_rate": 20.0})
GROUP = settings(Resource.GROUP, "billing", {"consumer.session.timeout.ms": "50000"})
METRICS = settings(Resource.CLIENT_METRICS, "basic", {"interval.ms": "5000"})


def case(words: str, **more: Any) -> Case:
    return Case("kafka-configs", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    # -- topics ------------------------------------------------------------------------------------
    case("--describe --topic orders", setup=(ORDERS,)),
    case("--describe --topic payments", setup=(PAYMENTS,)),
    case("--describe --topic payments --all", setup=(PAYMENTS,)),
    case("--describe --entity-type topics --entity-name payments", setup=(PAYMENTS,)),
    case("--describe --entity-type topics", setup=(PAYMENTS, ORDERS), loose=("order",)),
    case("--describe --topic nope"),
    case("--describe --topic nope --all"),
    case(
        "--alter --topic orders --add-config retention.ms=1000",
        setup=(ORDERS,),
        then="--describe --topic orders",
    ),
    case(
        "--alter --topic orders --add-config 'cleanup.policy=[compact,delete],max.message.bytes=9'",
        setup=(ORDERS,),
        then="--describe --topic orders",
    ),
    case(
        "--alter --entity-type topics --entity-name payments --delete-config retention.ms",
        setup=(PAYMENTS,),
        then="--describe --topic payments",
    ),
    case(
        "--alter --topic payments --add-config segment.ms=1 --delete-config retention.ms",
        setup=(PAYMENTS,),
        then="--describe --topic payments",
    ),
    case(
        "--alter --topic orders --add-config-file {folder}/more.properties",
        setup=(ORDERS, file("more.properties", "retention.ms=77\nsegment.ms = 88\n")),
        then="--describe --topic orders",
    ),
    case("--alter --topic orders --delete-config nonsense", setup=(ORDERS,)),
    case("--alter --topic orders --add-config nonsense=1", setup=(ORDERS,)),
    case("--alter --topic orders --add-config retention.ms=soon", setup=(ORDERS,)),
    case("--alter --topic orders --add-config retention.ms", setup=(ORDERS,)),
    case("--alter --topic nope --add-config retention.ms=1"),
    # -- brokers -----------------------------------------------------------------------------------
    case("--describe --broker 1"),
    case("--describe --broker 1 --all"),
    case("--describe --broker-defaults"),
    case("--describe --entity-type brokers"),
    case("--describe --broker 7"),
    case("--describe --broker one"),
    case(
        "--alter --broker 1 --add-config log.cleaner.threads=2",
        then="--describe --entity-type brokers",
    ),
    case(
        "--alter --broker-defaults --add-config log.cleaner.threads=2",
        then="--describe --entity-type brokers --entity-name 1",
    ),
    case(
        "--alter --entity-type brokers --entity-default --add-config message.max.bytes=99999",
        then="--describe --broker-defaults",
    ),
    case("--alter --broker 1 --delete-config log.cleaner.threads"),
    case("--alter --broker 1 --add-config broker.id=3"),
    case("--alter --broker 1 --add-config message.max.bytes=many"),
    # -- limits ------------------------------------------------------------------------------------
    case("--describe --entity-type clients", setup=(DEFAULT_CLIENT,)),
    case("--describe --client-defaults", setup=(DEFAULT_CLIENT,)),
    case("--describe --entity-type clients --entity-name app", setup=(DEFAULT_CLIENT,)),
    case("--describe --user alice --client app", setup=(ALICES_APP, ALICE)),
    case("--describe --entity-type users --entity-type clients", setup=(ALICES_APP, ALICE)),
    case("--describe --entity-type users --entity-default", setup=(ALICE,)),
    case("--describe --user alice", setup=(ALICE,)),
    case("--describe --ip 127.0.0.1", setup=(LOCALHOST,)),
    case("--describe --entity-type ips", setup=(LOCALHOST,)),
    case(
        "--alter --entity-type users --entity-name alice --add-config producer_byte_rate=20000000",
        setup=(NOBODY,),
        then="--describe --user alice",
    ),
    case(
        "--alter --user alice --delete-config consumer_byte_rate",
        setup=(ALICE,),
        then="--describe --entity-type users",
    ),
    case("--alter --user alice --delete-config request_percentage", setup=(ALICE,)),
    case(
        "--alter --client-defaults --add-config consumer_byte_rate=2048,request_percentage=50",
        setup=(limits({"client-id": None}),),
        then="--describe --client-defaults",
        loose=("order",),
    ),
    case(
        "--alter --entity-type users --entity-name alice --entity-type clients --entity-default "
        "--add-config producer_byte_rate=5",
        setup=(limits({"user": "alice", "client-id": None}),),
        then="--describe --entity-type users --entity-name alice --entity-type clients",
    ),
    case(
        "--alter --ip-defaults --add-config connection_creation_rate=3",
        setup=(limits({"ip": None}),),
        then="--describe --ip-defaults",
    ),
    case("--alter --ip 127.0.0.1 --add-config producer_byte_rate=3"),
    case("--alter --user alice --add-config producer_byte_rate=fast"),
    case("--alter --user alice --add-config nonsense=3"),
    case("--alter --client app --add-config SCRAM-SHA-256=[password=p]"),
    # -- passwords ---------------------------------------------------------------------------------
    case("--alter --user alice --add-config 'SCRAM-SHA-256=[password=p]'"),
    case("--alter --user alice --add-config 'SCRAM-SHA-512=[iterations=8192,password=a=b,c]'"),
    case("--alter --user alice --add-config 'SCRAM-SHA-256=[iterations=10,password=p]'"),
    case("--alter --user-defaults --add-config 'SCRAM-SHA-256=[password=p]'"),
    case("--alter --user alice --add-config 'SCRAM-SHA-256=[password=p],producer_byte_rate=1'"),
    # -- groups, metrics, loggers ------------------------------------------------------------------
    case("--describe --group billing", setup=(GROUP,)),
    case("--describe --entity-type groups", setup=(GROUP,)),
    case("--describe --group nope"),
    case(
        "--describe --group reading",
        setup=(ORDERS, committed("reading", {("orders", 0): 0})),
    ),
    case(
        "--alter --group billing --add-config consumer.heartbeat.interval.ms=6000",
        setup=(settings(Resource.GROUP, "billing"),),
        then="--describe --group billing",
    ),
    case("--describe --client-metrics basic", setup=(METRICS,)),
    case("--describe --entity-type client-metrics", setup=(METRICS,)),
    case("--describe --client-metrics nope"),
    case(
        "--alter --client-metrics basic --add-config 'metrics=[a.,b.],interval.ms=60000'",
        setup=(settings(Resource.CLIENT_METRICS, "basic"),),
        then="--describe --client-metrics basic",
    ),
    case("--describe --broker-logger 1"),
    case("--alter --broker-logger 1 --add-config no.such.logger=DEBUG"),
    # -- wrong use ---------------------------------------------------------------------------------
    case("--describe"),
    case("--alter"),
    case("--describe --alter --topic orders"),
    case("--alter --topic orders"),
    case("--alter --entity-type topics --add-config a=1"),
    case("--describe --entity-type nonsense"),
    case("--describe --topic orders --broker 1"),
    case("--describe --entity-type topics --topic orders"),
    case("--describe --entity-type topics --entity-default"),
    case("--describe --entity-type broker-loggers"),
    case("--describe --topic orders --add-config a=1"),
    case("--alter --topic orders --add-config a=1 --add-config-file {folder}/none"),
    case("--describe --topic orders --nonsense"),
    Case("kafka-configs", "--describe --topic orders"),
    Case("kafka-configs", ""),
    Case("kafka-configs", "--help", differs=HELP),
]
