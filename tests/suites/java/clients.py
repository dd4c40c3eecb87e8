"""Checks of the Java client through Kafka's test and performance tools."""

from __future__ import annotations

from functools import partial

from tests.suites.java.tools import CHECKS, Tools, check, events_of

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PERFORMANCE_RECORDS = 20_000
VERIFIED_RECORDS = 100_000


@check("api-versions")
def api_versions(tools: Tools) -> None:
    tools("kafka-broker-api-versions", says=["Produce(0)", "Fetch(1)", "ApiVersions(18)"])
    assert tools.brokers()


@check("client-compatibility")
def client_compatibility(tools: Tools) -> None:
    nodes = len(tools.brokers())
    # The tool creates a topic of this name and leaves it behind.
    tools("kafka-topics", "--delete", "--topic", "newtopic", code=None)
    supported = [
        *("offsets-for-times", "cluster-id", "create-topics", "describe-acls"),
        *("describe-configs", "idempotent-producer"),
    ]
    words = [word for name in supported for word in (f"--{name}-supported", "true")]
    words += ["--expect-record-too-large-exception", "false", "--num-cluster-nodes", str(nodes)]
    topic = tools.topic("compatibility")
    tools("ClientCompatibilityTest", "--topic", topic, *words, says=["SUCCESS."])


@check("console")
def console(tools: Tools) -> None:
    topic = tools.create("console")
    reader = ["parse.key=true", "parse.headers=true", "null.marker=NULL"]
    words = [word for each in reader for word in ("--reader-property", each)]
    records = "h1:v1,h2:v2\tk1\tone\nh1:v1\tk2\ttwo\nh1:x\tk3\tNULL\n"
    tools("kafka-console-producer", "--topic", topic, *words, stdin=records)
    shown = ["key", "headers", "offset", "partition"]
    words = [word for each in shown for word in ("--formatter-property", f"print.{each}=true")]
    assert tools.read(topic, *words, limit=3) == [
        "Partition:0\tOffset:0\th1:v1,h2:v2\tk1\tone",
        "Partition:0\tOffset:1\th1:v1\tk2\ttwo",
        "Partition:0\tOffset:2\th1:x\tk3\tnull",
    ]


def verifiable(tools: Tools, protocol: str) -> None:
    """A group reads every record, commits, and has no lag."""
    topic, group = tools.create(f"verifiable-{protocol}", 4), tools.topic(f"group-{protocol}")
    tools.produce(topic, VERIFIED_RECORDS)
    assert sum(tools.offsets(topic).values()) == VERIFIED_RECORDS
    words = ["--topic", topic, "--group-id", group, "--group-protocol", protocol]
    output = tools("VerifiableConsumer", *words, "--max-messages", VERIFIED_RECORDS)
    events = events_of(output)
    consumed = sum(event["count"] for event in events if event.get("name") == "records_consumed")
    assert consumed == VERIFIED_RECORDS, f"{consumed} of {VERIFIED_RECORDS} records consumed"
    commits = [event["success"] for event in events if event.get("name") == "offsets_committed"]
    assert commits, "no offset commit"
    assert all(commits), "an offset commit failed"
    output = tools("kafka-consumer-groups", "--describe", "--group", group)
    lags = [line.split()[5] for line in output.splitlines() if line.startswith(group)]
    assert lags == ["0"] * 4, f"lags {lags}"


for _protocol in ("classic", "consumer"):
    CHECKS[f"verifiable-{_protocol}"] = partial(verifiable, protocol=_protocol)


def performance(tools: Tools, codec: str) -> None:
    """The performance tools write and read every record with each codec."""
    topic = tools.create(f"perf-{codec}", 3)
    sent = [f"{PERFORMANCE_RECORDS} records sent"]
    tools.fill_by_performance_tool(
        topic, PERFORMANCE_RECORDS, f"compression.type={codec}", "acks=all", says=sent
    )
    assert sum(tools.offsets(topic).values()) == PERFORMANCE_RECORDS
    words = ["--topic", topic, "--num-records", PERFORMANCE_RECORDS, "--timeout", 20_000]
    rows = tools("ConsumerPerformance", *words).splitlines()
    row = [line for line in rows if line[:4].isdigit()][-1].split(", ")
    assert int(float(row[4])) == PERFORMANCE_RECORDS, f"consumed {row[4]}"


for _codec in CODECS:
    CHECKS[f"perf-{_codec}"] = partial(performance, codec=_codec)
