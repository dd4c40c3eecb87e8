"""Checks of the administration tools: topics, configurations, offsets, folders, placement."""

from __future__ import annotations

import json

from tests.suites.java.tools import Declined, Tools, check

POLLS = 10


@check("topics")
def topics(tools: Tools) -> None:
    topic = tools.create("topics", 3, retention_ms=3600000, cleanup_policy="compact")
    name = ("--topic", topic)
    says = ["PartitionCount: 3", "retention.ms=3600000", "cleanup.policy=compact", "Leader:"]
    tools("kafka-topics", "--list", says=[topic])
    tools("kafka-topics", "--describe", *name, says=[*says, "Isr:"])
    tools("kafka-topics", "--create", *name, code=1, says=["already exists"])
    tools("kafka-topics", "--create", "--if-not-exists", *name)
    tools("kafka-topics", "--alter", *name, "--partitions", 5)
    tools("kafka-topics", "--describe", *name, says=["PartitionCount: 5"])
    says = ["InvalidPartitionsException"]
    tools("kafka-topics", "--alter", *name, "--partitions", 2, code=1, says=says)
    says = ["InvalidTopicException"]
    tools("kafka-topics", "--create", "--topic", "bad name", code=1, says=says)
    much = ("--topic", tools.topic("much"), "--replication-factor", 100)
    says = ["InvalidReplicationFactorException"]
    tools("kafka-topics", "--create", *much, code=1, says=says)
    tools("kafka-topics", "--describe", "--unavailable-partitions", says_not=[topic])
    tools("kafka-topics", "--delete", *name)
    tools("kafka-topics", "--list", says_not=[topic])
    tools("kafka-topics", "--delete", *name, code=1)


@check("configs-topic")
def configs_topic(tools: Tools) -> None:
    entity = ("--entity-type", "topics", "--entity-name", tools.create("configs"))
    alter, describe = ("--alter", *entity), ("--describe", *entity)
    both = ["max.message.bytes=2000000", "retention.ms=1234567"]
    says = ["Completed updating config"]
    tools("kafka-configs", *alter, "--add-config", ",".join(both), says=says)
    tools("kafka-configs", *describe, says=[*both, "DYNAMIC_TOPIC_CONFIG"])
    tools("kafka-configs", *describe, "--all", says=["segment.bytes=", "DEFAULT_CONFIG"])
    tools("kafka-configs", *alter, "--delete-config", "retention.ms")
    tools("kafka-configs", *describe, says_not=[both[1]])
    says = ["InvalidConfigurationException"]
    tools("kafka-configs", *alter, "--add-config", "max.message.bytes=many", code=1, says=says)


@check("configs-broker")
def configs_broker(tools: Tools) -> None:
    brokers = ("--entity-type", "brokers")
    one = (*brokers, "--entity-name", tools.brokers()[0])
    every = (*brokers, "--entity-default")
    says = ["num.partitions=", "log.retention.ms="]
    tools("kafka-configs", "--describe", "--all", *one, says=says)
    tools("kafka-configs", "--alter", *every, "--add-config", "log.cleaner.threads=1")
    tools("kafka-configs", "--describe", *every, says=["log.cleaner.threads=1"])
    tools("kafka-configs", "--alter", *every, "--delete-config", "log.cleaner.threads")
    tools("kafka-configs", "--alter", *one, "--add-config", "log.cleaner.threads=few", code=1)


@check("configs-quota")
def configs_quota(tools: Tools) -> None:
    entity = ("--entity-type", "users", "--entity-name", tools.topic("user"))
    rates = ["producer_byte_rate=1048576", "consumer_byte_rate=2097152"]
    tools("kafka-configs", "--alter", *entity, "--add-config", ",".join(rates))
    tools("kafka-configs", "--describe", *entity, says=rates)
    names = "producer_byte_rate,consumer_byte_rate"
    tools("kafka-configs", "--alter", *entity, "--delete-config", names)
    tools("kafka-configs", "--describe", *entity, says_not=rates)


@check("configs-scram")
def configs_scram(tools: Tools) -> None:
    entity = ("--entity-type", "users", "--entity-name", tools.topic("scram"))
    credential = "SCRAM-SHA-256=[iterations=4096,password=secret]"
    tools("kafka-configs", "--alter", *entity, "--add-config", credential)
    tools("kafka-configs", "--describe", *entity, says=["SCRAM-SHA-256=iterations=4096"])
    tools("kafka-configs", "--alter", *entity, "--delete-config", "SCRAM-SHA-256")


@check("configs-group")
def configs_group(tools: Tools) -> None:
    entity = ("--entity-type", "groups", "--entity-name", tools.topic("group-config"))
    setting = "consumer.session.timeout.ms"
    tools("kafka-configs", "--alter", *entity, "--add-config", f"{setting}=50000")
    tools("kafka-configs", "--describe", *entity, says=[f"{setting}=50000"])
    tools("kafka-configs", "--alter", *entity, "--delete-config", setting)


@check("client-metrics")
def client_metrics(tools: Tools) -> None:
    name = ("--name", tools.topic("metrics"))
    what = ("--interval", 10000, "--metrics", "org.apache.kafka.producer.")
    tools("kafka-client-metrics", "--alter", *name, *what)
    tools("kafka-client-metrics", "--list", says=[name[1]])
    tools("kafka-client-metrics", "--describe", *name, says=["interval.ms=10000"])
    tools("kafka-client-metrics", "--delete", *name)


@check("get-offsets")
def get_offsets(tools: Tools) -> None:
    topic = tools.create("offsets", 2)
    old = ("--message-create-time", 1_700_000_000_000)
    tools.produce(topic, 1000, *old, "--repeating-keys", 100)
    ends = tools.offsets(topic)
    assert sum(ends.values()) == 1000, f"latest {ends}"
    assert min(ends.values()) > 0, f"latest {ends}"
    assert tools.offsets(topic, "--time", "earliest") == {0: 0, 1: 0}
    assert tools.offsets(topic, "--time", "latest") == ends
    assert tools.offsets(topic, "--time", 1) == {0: 0, 1: 0}
    newest = tools.offsets(topic, "--time", "max-timestamp")
    inside = all(0 < newest[partition] < end for partition, end in ends.items())
    assert inside, f"max-timestamp {newest}, ends {ends}"
    local = ("--topic", topic, "--time", "earliest-local")
    tools("kafka-get-offsets", *local, says=[f"{topic}:0:0"])
    one = ("--topic-partitions", f"{topic}:1")
    tools("kafka-get-offsets", *one, says=[f"{topic}:1:"], says_not=[f"{topic}:0:"])


@check("delete-records")
def delete_records(tools: Tools) -> None:
    topic = tools.create("delete", 2)
    tools.produce(topic, 1000, "--repeating-keys", 100)
    ends = tools.offsets(topic)
    file = tools.log.with_suffix(".offsets.json")

    def delete(offsets: dict[int, int]) -> str:
        partitions = [
            {"topic": topic, "partition": partition, "offset": offset}
            for partition, offset in offsets.items()
        ]
        file.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return tools("kafka-delete-records", "--offset-json-file", file, code=None)

    delete({0: 100, 1: -1})
    assert tools.offsets(topic, "--time", "earliest") == {0: 100, 1: ends[1]}
    assert len(tools.read(topic)) == ends[0] - 100
    assert "OffsetOutOfRange" in delete({0: ends[0] + 1000})


@check("acls")
def acls(tools: Tools) -> None:
    topic = ("--topic", tools.topic("acl"))
    rule = ("--allow-principal", "User:suite", "--operation", "Read", *topic)
    output = tools("kafka-acls", "--add", *rule, code=None)
    if "SecurityDisabledException" in output:
        raise Declined("no authorizer on the broker")
    assert "Adding ACLs" in output
    tools("kafka-acls", "--list", *topic, says=["User:suite", "READ"])
    tools("kafka-acls", "--remove", "--force", *rule)
    tools("kafka-acls", "--list", *topic, says_not=["User:suite"])


@check("log-dirs")
def log_dirs(tools: Tools) -> None:
    topic = tools.create("dirs", 2)
    tools.produce(topic, 1000, "--repeating-keys", 100)
    output = tools("kafka-log-dirs", "--describe", "--topic-list", topic)
    answer = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    sizes = {
        replica["partition"]: replica["size"]
        for broker in answer["brokers"]
        for folder in broker["logDirs"]
        for replica in folder["partitions"]
    }
    assert set(sizes) == {f"{topic}-0", f"{topic}-1"}
    assert sum(sizes.values()) > 1000, f"sizes {sizes}"


@check("leader-election")
def leader_election(tools: Tools) -> None:
    what = ("--election-type", "preferred", "--topic", tools.create("election"), "--partition", 0)
    tools("kafka-leader-election", *what, says=["Valid replica already elected"])


@check("reassign-partitions")
def reassign_partitions(tools: Tools) -> None:
    topic, node = tools.create("reassign"), tools.brokers()[-1]
    plan = tools.log.with_suffix(".plan.json")
    move = {"topic": topic, "partition": 0, "replicas": [node]}
    plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
    file = ("--reassignment-json-file", plan)
    says = ["Successfully started partition reassignment"]
    tools("kafka-reassign-partitions", "--execute", *file, says=says)
    outputs = (tools("kafka-reassign-partitions", "--verify", *file) for _ in range(POLLS))
    assert any("is completed" in output for output in outputs), "it did not complete"
    tools("kafka-topics", "--describe", "--topic", topic, says=[f"Replicas: {node}\t"])


@check("cluster-tools")
def cluster_tools(tools: Tools) -> None:
    server = ("--bootstrap-server", tools.target.bootstrap)
    tools("kafka-cluster", "cluster-id", *server, bootstrap=False, says=["Cluster ID: "])
    tools("kafka-cluster", "list-endpoints", *server, bootstrap=False, says=["HOST"])
    tools("kafka-features", "describe", says=["metadata.version", "FinalizedVersionLevel"])


@check("metadata-quorum")
def metadata_quorum(tools: Tools) -> None:
    quorum = ("describe", "--status")
    tools("kafka-metadata-quorum", *quorum, says=["LeaderId:", "HighWatermark:"])
    tools("kafka-metadata-quorum", "describe", "--replication", says=["Leader"])
