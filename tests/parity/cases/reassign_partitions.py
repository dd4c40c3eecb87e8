"""`kafka-reassign-partitions`."""

from __future__ import annotations

import json
from typing import Any

from tests.parity.case import Case, Step
from tests.parity.stage import file, topic

ORDERS = topic("orders", 2)
TRIO = topic("orders", replicas=[[0, 1], [1, 2]])


def case(words: str, **more: Any) -> Case:
    return Case("kafka-reassign-partitions", "--bootstrap-server {bootstrap} " + words, **more)


def plan(*moves: tuple[str, int, list[int]], log_dirs: list[str] | None = None) -> Step:
    listed = []
    for name, number, replicas in moves:
        each: dict[str, object] = {"topic": name, "partition": number, "replicas": replicas}
        listed.append({**each, "log_dirs": log_dirs} if log_dirs else each)
    return file("plan.json", json.dumps({"version": 1, "partitions": listed}))


def topics(*names: str) -> Step:
    listed = [{"topic": name} for name in names]
    return file("topics.json", json.dumps({"topics": listed, "version": 1}))


PLAN = "--reassignment-json-file {folder}/plan.json"
TOPICS = "--topics-to-move-json-file {folder}/topics.json"
SAME = plan(("orders", 0, [1]), ("orders", 1, [1]))

WORDS = "ours names what cannot be read; Kafka's shows what Java's parser said"

CASES = [
    case("--list"),
    # -- generate ----------------------------------------------------------------------------------
    case(f"--generate {TOPICS} --broker-list 1", setup=(ORDERS, topics("orders"))),
    case(f"--generate {TOPICS} --broker-list 1 --disable-rack-aware",
         setup=(ORDERS, topics("orders"))),
    case(f"--generate {TOPICS} --broker-list 1", name="generate for an absent topic",
         setup=(topics("absent"),)),
    case(f"--generate {TOPICS} --broker-list 1,1", setup=(ORDERS, topics("orders"))),
    case(f"--generate {TOPICS} --broker-list one", setup=(ORDERS, topics("orders")), differs=WORDS),
    case(f"--generate {TOPICS} --broker-list 7", setup=(ORDERS, topics("orders"))),
    case(f"--generate {TOPICS}", setup=(ORDERS, topics("orders"))),
    case("--generate --broker-list 1"),
    # -- execute -----------------------------------------------------------------------------------
    case(f"--execute {PLAN}", setup=(ORDERS, SAME), then="--list"),
    case(f"--execute {PLAN}", name="execute on three", brokers=3,
         setup=(TRIO, plan(("orders", 0, [0, 1]), ("orders", 1, [1, 2])))),
    case(f"--execute {PLAN} --throttle 1000000", setup=(ORDERS, SAME)),
    case(f"--execute {PLAN} --replica-alter-log-dirs-throttle 1000", setup=(ORDERS, SAME)),
    case(f"--execute {PLAN} --additional", setup=(ORDERS, SAME)),
    case(f"--execute {PLAN} --disallow-replication-factor-change", setup=(ORDERS, SAME)),
    case(f"--execute {PLAN} --disallow-replication-factor-change", name="a factor changes",
         brokers=3, setup=(TRIO, plan(("orders", 0, [0, 1, 2])))),
    case(f"--execute {PLAN}", name="a broker is absent",
         setup=(ORDERS, plan(("orders", 0, [7])))),
    case(f"--execute {PLAN}", name="a topic is absent", setup=(plan(("absent", 0, [1])),)),
    case(f"--execute {PLAN}", name="a partition is absent",
         setup=(ORDERS, plan(("orders", 9, [1])))),
    case(f"--execute {PLAN}", name="a replica twice", setup=(ORDERS, plan(("orders", 0, [1, 1])))),
    case(f"--execute {PLAN}", name="a partition twice",
         setup=(ORDERS, plan(("orders", 0, [1]), ("orders", 0, [1])))),
    case(f"--execute {PLAN}", name="an empty plan", setup=(plan(),)),
    case(f"--execute {PLAN}", name="no replicas", setup=(ORDERS, plan(("orders", 0, [])))),
    case(f"--execute {PLAN}", name="no json", setup=(file("plan.json", "orders"),),
         differs=WORDS),
    case(f"--execute {PLAN}", name="no such file"),
    # -- verify ------------------------------------------------------------------------------------
    case(f"--verify {PLAN}", setup=(ORDERS, SAME)),
    case(f"--verify {PLAN} --preserve-throttles", setup=(ORDERS, SAME)),
    case(f"--verify {PLAN}", name="verify what is elsewhere", brokers=3,
         setup=(TRIO, plan(("orders", 0, [2, 1]), ("orders", 1, [1, 2])))),
    case(f"--verify {PLAN}", name="verify an absent topic", setup=(plan(("absent", 0, [1])),)),
    # -- cancel ------------------------------------------------------------------------------------
    case(f"--cancel {PLAN}", setup=(ORDERS, SAME),
         differs="ours ends the line about moves; Kafka's goes on in it"),
    case(f"--cancel {PLAN} --preserve-throttles", setup=(ORDERS, SAME)),
    # -- how it is called --------------------------------------------------------------------------
    case("--execute"),
    case("--execute --verify"),
    case(f"--verify {PLAN} --throttle 5"),
    case(f"--list {PLAN}"),
    case("--bogus"),
    Case("kafka-reassign-partitions", "--list"),
]  # fmt: skip
