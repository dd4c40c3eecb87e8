"""`headrace topic` and `headrace config` against a live broker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

import pytest

from tests.cli.conftest import Headrace


def fresh() -> str:
    return f"topic-{uuid.uuid4().hex[:12]}"


def described(live: Headrace, name: str) -> dict[str, object]:
    (found,) = json.loads(live("topic", "describe", name, "--output", "json").out)
    assert isinstance(found, dict)
    return found


def test_a_topic_is_created_as_asked(live: Headrace) -> None:
    """Partitions and settings reach the broker, and describe tells them back."""
    name = fresh()
    created = live("topic", "create", name, "-p", "3", "-c", "retention.ms=60000")
    assert created == (0, f"{'TOPIC'.ljust(len(name))}  RESULT\n{name}  created\n", "")
    found = described(live, name)
    assert found["configs"] == {"retention.ms": "60000"}
    partitions = found["partitions"]
    assert isinstance(partitions, list)
    assert [each["partition"] for each in partitions] == [0, 1, 2]
    assert {(each["log_start_offset"], each["log_end_offset"]) for each in partitions} == {(0, 0)}


def test_describe_is_a_line_and_a_table(live: Headrace, topic: str) -> None:
    """What a person sees."""
    head, columns, row = live("topic", "describe", topic).out.splitlines()
    assert head == f"{topic}: 1 partitions, replication factor 1, default settings"
    assert columns.split() == [
        "PARTITION", "LEADER", "REPLICAS", "ISR", "LOG-START-OFFSET", "LOG-END-OFFSET",
    ]  # fmt: skip
    assert row.split()[0] == "0"


def test_a_topic_that_exists_is_refused_unless_allowed(live: Headrace, topic: str) -> None:
    """Several topics are one call: the new one is created although the other fails."""
    new = fresh()
    outcome = live("topic", "create", topic, new)
    assert outcome.code == 1
    assert f'topic "{topic}"' in outcome.err
    assert "--if-not-exists" in outcome.err
    assert f"{new}  created" in outcome.out
    again = live("topic", "create", topic, new, "--if-not-exists", "-o", "json")
    assert again.code == 0
    assert {row["result"] for row in json.loads(again.out)} == {"exists"}


def test_the_brokers_refusal_is_told_in_its_words(live: Headrace) -> None:
    """Wrong names, settings and replication factors."""
    for words, complaint in [
        (["a b"], "'a b' is invalid"),
        ([fresh(), "-c", "retention.mss=1"], "retention.mss"),
        ([fresh(), "-c", "retention.ms=x"], "retention.ms"),
        ([fresh(), "-r", "9"], "9"),
    ]:
        outcome = live("topic", "create", *words)
        assert outcome.code == 1
        assert complaint in outcome.err
        assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("count", ["50000", "1000000", str(2**31 - 1), str(2**40)])
@pytest.mark.parametrize("words", [("create", "too-large"), ("alter", "TOPIC")], ids=" ".join)
def test_more_partitions_than_a_request_may_create_are_rejected(
    live: Headrace, topic: str, words: tuple[str, str], count: str
) -> None:
    """By the broker, or by the client where no request could hold the number: one line, a limit."""
    verb, name = words[0], words[1].replace("TOPIC", topic)
    outcome = live("topic", verb, name, "--partitions", count)
    assert outcome.code == 1
    assert "at most 10,000 partitions" in outcome.err
    assert "bug" not in outcome.err
    assert len(outcome.err.splitlines()) == 1
    partitions = described(live, topic)["partitions"]
    assert isinstance(partitions, list)
    assert len(partitions) == 1


def test_topics_are_listed_by_pattern(live: Headrace, topic: str) -> None:
    """A shell pattern chooses; internal topics are left out unless asked for."""
    rows = json.loads(live("topic", "list", topic[:-2] + "*", "-o", "json").out)
    assert rows == [{"topic": topic, "partitions": 1, "replication_factor": 1}]
    assert live("topic", "list", "nothing*").out == "TOPIC  PARTITIONS  REPLICATION-FACTOR\n"


def test_an_unknown_topic_is_answered_with_its_neighbours(live: Headrace, topic: str) -> None:
    """Did you mean …? in every command that takes a topic."""
    wrong = topic[:-1]
    for words in (
        ["topic", "describe", wrong],
        ["topic", "delete", wrong],
        ["topic", "alter", wrong, "-p", "9"],
        ["config", "describe", "topic", wrong],
        ["config", "set", "topic", wrong, "retention.ms=1"],
        ["consume", "-t", wrong],
        ["produce", "-t", wrong],
    ):
        outcome = live(*words)
        assert outcome.code == 1
        assert f'there is no topic "{wrong}"; did you mean "{topic}"' in outcome.err


def test_alter_adds_partitions_and_changes_settings(live: Headrace, topic: str) -> None:
    """One command for both; partitions never become fewer."""
    settings = ["-c", "retention.ms=5000", "-c", "max.message.bytes=2000"]
    assert live("topic", "alter", topic, "-p", "4", *settings).code == 0
    assert described(live, topic)["configs"] == {
        "max.message.bytes": "2000",
        "retention.ms": "5000",
    }
    assert live("topic", "alter", topic, "--delete-config", "retention.ms").code == 0
    found = described(live, topic)
    assert found["configs"] == {"max.message.bytes": "2000"}
    assert len(found["partitions"]) == 4  # type: ignore[arg-type]
    fewer = live("topic", "alter", topic, "-p", "2")
    assert fewer.code == 1
    assert "partitions can only be added" in fewer.err


def test_deleted_topics_are_gone(live: Headrace, new_topic: Callable[[int], str]) -> None:
    """No question is asked when nobody sits at the terminal."""
    one, two = new_topic(1), new_topic(2)
    outcome = live("topic", "delete", one, two, "-o", "json")
    assert outcome.code == 0
    assert {row["topic"] for row in json.loads(outcome.out)} == {one, two}
    listed = live("topic", "list").out
    assert one not in listed
    assert two not in listed


def test_settings_are_set_shown_and_deleted(live: Headrace, topic: str) -> None:
    """Each value tells where it comes from; --all shows the defaults too."""
    assert live("config", "set", "topic", topic, "retention.ms=7000", "segment.ms=8000").code == 0
    rows = json.loads(live("config", "describe", "topic", topic, "-o", "json").out)
    assert [(row["name"], row["value"], row["source"]) for row in rows] == [
        ("retention.ms", "7000", "dynamic-topic"),
        ("segment.ms", "8000", "dynamic-topic"),
    ]
    everything = json.loads(live("config", "describe", "topic", topic, "-a", "-o", "json").out)
    assert {"name", "value", "source", "read_only", "sensitive"} == set(everything[0])
    assert any(row["name"] == "cleanup.policy" for row in everything)
    assert live("config", "delete", "topic", topic, "segment.ms", "retention.ms").code == 0
    assert json.loads(live("config", "describe", "topic", topic, "-o", "json").out) == []


def test_an_invalid_setting_names_key_and_value(live: Headrace, topic: str) -> None:
    """The broker's words, and where to find the keys."""
    outcome = live("config", "set", "topic", topic, "retention.ms=soon")
    assert outcome.code == 1
    assert "retention.ms" in outcome.err
    assert "soon" in outcome.err


def test_a_broker_tells_its_settings(live: Headrace) -> None:
    """By id; an id that is not there is answered with those that are."""
    cluster = json.loads(live("cluster", "describe", "-o", "json").out)
    broker = cluster["brokers"][0]["broker"]
    rows = json.loads(live("config", "describe", "broker", str(broker), "-o", "json").out)
    assert any(row["name"] == "listeners" for row in rows)
    missing = live("config", "describe", "broker", "77")
    assert missing == (1, "", f"headrace: there is no broker 77; the brokers are {broker}\n")
