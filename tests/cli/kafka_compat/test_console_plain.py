"""`kafka-console-producer` and `kafka-console-consumer` without schemas, on a real broker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.cli.kafka_compat import console_consumer, console_producer
from headrace.cli.kafka_compat.console.formatter import DefaultFormatter
from headrace.cli.kafka_compat.console.formatters import plain_shows
from headrace.cli.kafka_compat.flags import parse
from tests.cli.kafka_compat.conftest import Tool

TOOLS = (sys.executable, "-m", "headrace.cli.kafka_compat")


@pytest.fixture
def at(services: dict[str, str]) -> list[str]:
    return ["--bootstrap-server", services["broker"]]


def properties(flag: str, *pairs: str) -> list[str]:
    return [word for pair in pairs for word in (flag, pair)]


@pytest.mark.spec("slides:N07", "slides:N08", "admin:CL-11", "admin:CL-12")
def test_lines_in_and_lines_out(
    tool: Tool, services: dict[str, str], at: list[str], topic: str, tmp_path: Path
) -> None:
    """A file on standard input, by the flag of old; the count of messages stands on stderr."""
    text = "one\n\nthree ü\r\nlast"
    written = tool(
        console_producer.run, "--broker-list", services["broker"], "--topic", topic, stdin=text
    )
    assert written == (0, "", "")
    read = tool(console_consumer.run, *at, "--topic", topic, "--from-beginning", "--max-messages=4")
    assert read == (0, "one\n\nthree ü\nlast\n", "Processed a total of 4 messages\n")
    # As it is meant to be used: a process whose standard input is a file.
    (tmp_path / "lines").write_text("five\n")
    with (tmp_path / "lines").open() as lines:
        command = [*TOOLS, "kafka-console-producer", *at, "--topic", topic]
        subprocess.run(command, stdin=lines, check=True, timeout=60)
    place = ("--topic", topic, "--partition", "0", "--offset", "4")
    one = tool(console_consumer.run, *at, *place, "--max-messages", "1")
    assert one.out == "five\n"


def test_keys_headers_and_nulls_both_ways(tool: Tool, at: list[str], topic: str) -> None:
    """What the reader's properties take apart, the formatter's put together."""
    reading = properties(
        "--reader-property",
        *("parse.key=true", "key.separator=|", "parse.headers=true", "null.marker=NIL"),
    )
    lines = "a:1,b:NIL\tk|v\n\tNIL|NIL\nNIL\tk2|\n"
    done = tool(console_producer.run, *at, "--topic", topic, *reading, "--sync", stdin=lines)
    assert done.code == 1  # the second line has an empty header without a value
    assert done.err == "headrace: No header key separator found in pair '' on line number 2\n"
    fair = lines.replace("\n\t", "\nh:\t")
    done = tool(console_producer.run, *at, "--topic", topic, *reading, stdin=fair)
    assert done == (0, "", "")
    shown = properties(
        "--formatter-property",
        *("print.headers=true", "print.key=true", "key.separator= ", "null.literal=-"),
        *("print.offset=true", "print.partition=true", "headers.separator=;"),
    )
    where = ("--topic", topic, "--from-beginning", "--max-messages", "4")
    assert tool(console_consumer.run, *at, *where, *shown).out.splitlines() == [
        "Partition:0 Offset:0 a:1;b:- k v",
        "Partition:0 Offset:1 a:1;b:- k v",
        "Partition:0 Offset:2 h: - -",
        "Partition:0 Offset:3 NO_HEADERS k2 ",
    ]


@pytest.mark.spec("slides:N09")
def test_every_run_is_a_group_of_its_own(
    tool: Tool, services: dict[str, str], at: list[str], topic: str
) -> None:
    """console-consumer-NNNNN, another one each time, and it leaves no offsets behind."""
    tool(console_producer.run, *at, "--topic", topic, stdin="x\n")
    words = [*at, "--topic", topic, "--from-beginning", "--max-messages", "1"]
    assert [tool(console_consumer.run, *words).out for _ in range(2)] == ["x\n", "x\n"]
    admin = AdminClient({"bootstrap.servers": services["broker"]})
    groups = {group.group_id for group in admin.list_consumer_groups().result(30).valid}
    mine = {group for group in groups if re.fullmatch(r"console-consumer-\d{1,5}", group)}
    for group in mine:
        member = Consumer({"bootstrap.servers": services["broker"], "group.id": group})
        [place] = member.committed([TopicPartition(topic, 0)], timeout=30)
        member.close()
        assert place.offset < 0
    nothing = parse([], console_consumer.run.flags)
    names = {console_consumer.consumer_settings(nothing)["group.id"] for _ in range(20)}
    assert len(names) > 10


def test_a_group_goes_on_where_it_was(tool: Tool, at: list[str], topic: str) -> None:
    """--group commits what was printed, and no more."""
    tool(console_producer.run, *at, "--topic", topic, stdin="1\n2\n3\n")
    read = ("--topic", topic, "--group", topic, "--from-beginning", "--max-messages")
    assert tool(console_consumer.run, *at, *read, "2").out == "1\n2\n"
    assert tool(console_consumer.run, *at, *read, "1").out == "3\n"


def test_a_silence_is_no_failure(tool: Tool, at: list[str], topic: str) -> None:
    """--timeout-ms ends with 0, and says so as Kafka's log does."""
    tool(console_producer.run, *at, "--topic", topic, stdin="x\n")
    where = ("--topic", topic, "--partition", "0", "--from-beginning")
    done = tool(console_consumer.run, *at, *where, "--timeout-ms", "200")
    assert (done.code, done.out) == (0, "x\n")
    log, why, count = done.err.splitlines()
    assert "ERROR Error processing message, terminating consumer process" in log
    assert why == "org.apache.kafka.common.errors.TimeoutException"
    assert count == "Processed a total of 1 messages"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_its_count(
    tool: Tool, at: list[str], topic: str, number: signal.Signals, code: int
) -> None:
    """Ctrl-C prints how many messages there were; the exit code is that of Java's machine."""
    tool(console_producer.run, *at, "--topic", topic, stdin="x\ny\n")
    words = [*at, "--topic", topic, "--partition", "0", "--from-beginning"]
    with subprocess.Popen(
        [*TOOLS, "kafka-console-consumer", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["x\n", "y\n"]
        os.kill(process.pid, number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, "Processed a total of 2 messages\n")


def test_words_of_the_past(tool: Tool, at: list[str], topic: str) -> None:
    """--new-consumer and --whitelist are told on stderr; the output is that of today."""
    tool(console_producer.run, *at, "--topic", topic, stdin="x\n")
    words = ("--whitelist", f"no,{topic}", "--new-consumer", "--from-beginning")
    done = tool(console_consumer.run, *at, *words, "--max-messages", "1")
    assert (done.code, done.out) == (0, "x\n")
    assert "--whitelist is deprecated" in done.err
    assert "--new-consumer is deprecated" in done.err


@pytest.mark.parametrize(
    ("command", "words", "told"),
    [
        (console_producer.run, "--property parse.key=true", "Use --reader-property instead."),
        (console_producer.run, "--producer-property acks=1", "Use --command-property instead."),
        (console_consumer.run, "--property print.key=false", "Use --formatter-property instead."),
        (console_consumer.run, "--consumer-property a.b=c", "Use --command-property instead."),
    ],
)
def test_superseded_flags_are_told_on_standard_output(
    tool: Tool,
    topic: str,
    command: Callable[[list[str]], int],
    words: str,
    told: str,
) -> None:
    """As Kafka 4 does, before it has asked any broker."""
    done = tool(command, "--bootstrap-server", "127.0.0.1:1", "--topic", topic, *words.split())
    assert done.code == 1
    assert done.out.endswith(f"will be removed in a future version. {told}\n")


def test_formatters_by_name(tool: Tool, at: list[str], topic: str) -> None:
    """The deserializers and formatters of Kafka's own, under old names, too."""
    tool(console_producer.run, *at, "--topic", topic, stdin="x\n")
    where = ("--topic", topic, "--partition", "0", "--from-beginning", "--max-messages", "1")
    none = tool(
        console_consumer.run, *at, *where, "--formatter", "kafka.tools.NoOpMessageFormatter"
    )
    assert (none.code, none.out) == (0, "")
    name = "kafka.tools.LoggingMessageFormatter"
    logging = tool(console_consumer.run, *at, *where, "--formatter", name)
    assert logging.out == "x\n"
    assert re.search(r"INFO CreateTime:\d+, key:null, value:x \(", logging.err)
    long = "org.apache.kafka.common.serialization.LongDeserializer"
    bad = tool(console_consumer.run, *at, *where, "--value-deserializer", long)
    assert bad.code == 1
    assert "partition 0 offset 0: the key has 1 bytes and is not of type long" in bad.err
    skipped = tool(
        console_consumer.run, *at, *where, "--value-deserializer", long, "--skip-message-on-error"
    )
    assert (skipped.code, skipped.out) == (0, "")


def test_nothing_to_print_is_nothing() -> None:
    """print.value=false alone prints not even the end of a line."""
    given = {"print.value": "false"}
    assert DefaultFormatter(given, plain_shows(given)).line(object()) == b""
