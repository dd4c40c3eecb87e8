"""Checks of transactions: Kafka's own copier, with aborts, and the tool that lists them."""

from __future__ import annotations

from tests.suites.java.tools import Tools, check, events_of


def copy(tools: Tools, word: str, records: int, *words: str) -> str:
    """Copy a topic in transactions; the target holds every record once. The target's name."""
    source, target = tools.create(f"{word}-in"), tools.create(f"{word}-out", 2)
    tools.produce(source, records)
    output = tools(
        "TransactionalMessageCopier",
        *("--input-topic", source, "--input-partition", 0, "--output-topic", target),
        *("--max-messages", records, "--transaction-size", 500),
        *("--transactional-id", tools.topic(f"{word}-id")),
        *("--consumer-group", tools.topic(f"{word}-group"), *words),
    )
    reached_end = any(event.get("remaining") == 0 for event in events_of(output))
    assert reached_end, "the copier did not reach the end"
    values = tools.read(target)
    assert len(values) == records, f"{len(values)} records instead of {records}"
    assert set(values) == {str(number) for number in range(records)}, "records are not the source's"
    return target


@check("transactional-copy")
def transactional_copy(tools: Tools) -> None:
    copy(tools, "copy", 20_000)


@check("transactional-copy-group-mode")
def transactional_copy_group_mode(tools: Tools) -> None:
    copy(tools, "copy-group", 5_000, "--group-mode", "--use-group-metadata")


@check("transactional-copy-aborts")
def transactional_copy_aborts(tools: Tools) -> None:
    target = copy(tools, "copy-aborts", 20_000, "--enable-random-aborts")
    everything = len(tools.read(target, isolation="read_uncommitted"))
    assert everything >= 20_000, f"read_uncommitted sees {everything}"


@check("transactions-tool")
def transactions_tool(tools: Tools) -> None:
    copy(tools, "tool", 1_000)
    identity, topic = tools.topic("tool-id"), tools.topic("tool-out")
    describe = ["describe", "--transactional-id"]
    tools("kafka-transactions", "list", says=[identity, "CompleteCommit"])
    says = [identity, "CompleteCommit", "ProducerEpoch"]
    tools("kafka-transactions", *describe, identity, says=says)
    producers = ["describe-producers", "--topic", topic, "--partition", 0]
    tools("kafka-transactions", *producers, says=["ProducerId", "LastSequence"])
    broker = tools.brokers()[0]
    tools("kafka-transactions", "find-hanging", "--broker-id", broker, says=["Topic"])
    tools("kafka-transactions", *describe, "no-such-id", code=1)
