"""`headrace transaction` against a live broker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import pytest
from confluent_kafka import KafkaException, Producer

from tests.cli.conftest import Headrace
from tests.cli.coordinated.actors import leave_hanging

Open: TypeAlias = Callable[..., AbstractContextManager[Producer]]


def data(live: Headrace, *words: str) -> Any:
    outcome = live("transaction", *words, "-o", "json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_an_open_transaction_is_listed_and_described(
    live: Headrace, open_transaction_of: Open, transactional_id: str, filled: str
) -> None:
    """KIP-664: its producer, state, time-out, age and partitions."""
    with open_transaction_of(transactional_id, filled, [0, 1]):
        listed = {row["transactional_id"]: row for row in data(live, "list", "--state", "ongoing")}
        assert transactional_id in listed
        (view,) = data(live, "describe", transactional_id)
        assert view["state"] == "Ongoing"
        assert view["producer_id"] == listed[transactional_id]["producer_id"]
        assert view["timeout_ms"] == 60_000
        assert 0 <= view["open_for_ms"] < 60_000
        assert view["partitions"] == [
            {"topic": filled, "partition": 0},
            {"topic": filled, "partition": 1},
        ]
        head, *rows = live("transaction", "describe", transactional_id).out.splitlines()
        assert head.startswith(f"{transactional_id}: Ongoing, producer ")
        assert [row.split() for row in rows[1:]] == [[filled, "0"], [filled, "1"]]


def test_the_list_is_filtered(
    live: Headrace, open_transaction_of: Open, transactional_id: str, filled: str
) -> None:
    """By state, producer id and how long the transaction is open (KIP-994)."""
    with open_transaction_of(transactional_id, filled, [0]):

        def listed(*words: str) -> bool:
            found = {row["transactional_id"] for row in data(live, "list", *words)}
            return transactional_id in found

        (view,) = data(live, "describe", transactional_id)
        mine = str(view["producer_id"])
        assert listed()
        assert listed("--state", "Empty", "--state", "Ongoing", "--producer-id", mine)
        assert not listed("--state", "CompleteCommit")
        assert not listed("--producer-id", "987654321")
        assert not listed("--older-than", "1h")
        assert listed("--older-than", "1ms")
    assert not listed("--state", "Ongoing")
    wrong = live("transaction", "list", "--state", "ongoin")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert 'did you mean "Ongoing"' in wrong.err


def test_a_partition_tells_its_producers(
    live: Headrace, open_transaction_of: Open, transactional_id: str, filled: str
) -> None:
    """Where the open transaction begins, behind the ten records that were there."""
    with open_transaction_of(transactional_id, filled, [0]):
        (view,) = data(live, "describe", transactional_id)
        (row,) = data(live, "producers", f"{filled}:0")
        assert row["producer_id"] == view["producer_id"]
        assert row["producer_epoch"] == view["producer_epoch"]
        assert (row["start_offset"], row["last_sequence"]) == (10, 0)
        assert data(live, "producers", f"{filled}:1") == []
    (row,) = data(live, "producers", f"{filled}:0")
    assert row["start_offset"] is None


@pytest.mark.spec("slides:E09")
def test_a_terminated_producer_is_fenced(
    live: Headrace, open_transaction_of: Open, transactional_id: str, filled: str
) -> None:
    """Its transaction is aborted, its commit refused, and readers see nothing of it."""
    with open_transaction_of(transactional_id, filled, [0]) as producer:
        (row,) = data(live, "force-terminate", transactional_id)
        assert (row["state_before"], row["result"]) == ("Ongoing", "terminated")
        with pytest.raises(KafkaException, match=r"fenced|FENCED"):
            producer.commit_transaction(30)
    (view,) = data(live, "describe", transactional_id)
    assert (view["partitions"], view["started"]) == ([], None)
    assert "uncommitted" not in live("consume", filled).out


def test_an_unknown_id_is_not_created(live: Headrace, transactional_id: str) -> None:
    """InitProducerId alone would create it."""
    for command in ("describe", "force-terminate"):
        outcome = live("transaction", command, transactional_id)
        assert (outcome.code, outcome.err.count("\n")) == (1, 1)
        assert 'see "headrace transaction list"' in outcome.err
    assert transactional_id not in live("transaction", "list").out


def test_a_hanging_transaction_is_found_and_aborted(
    live: Headrace, servers: str, transactional_id: str, filled: str
) -> None:
    """KIP-664: open in the log, unknown to its coordinator; readers wait until it is aborted."""
    hour_ago_ms = time.time_ns() // 1_000_000 - 3_600_000
    producer_id = leave_hanging(servers, transactional_id, filled, hour_ago_ms)
    assert live("produce", filled, "-p", "0", stdin=b"behind\n").code == 0
    assert "behind" not in live("consume", filled, "-p", "0").out
    assert data(live, "find-hanging", "--topic", filled, "--older-than", "2h") == []
    (found,) = data(live, "find-hanging", "--topic", filled)
    assert (found["topic"], found["partition"], found["start_offset"]) == (filled, 0, 10)
    assert found["producer_id"] == producer_id
    assert found["age"].startswith("1h")
    assert filled in [each["topic"] for each in data(live, "find-hanging")]
    where = ["--topic", filled, "--partition", "0", "--start-offset"]
    wrong = live("transaction", "abort", *where, "3")
    assert wrong.code == 1
    assert "open ones begin at 10" in wrong.err
    (row,) = data(live, "abort", *where, "10")
    assert (row["producer_id"], row["result"]) == (producer_id, "aborted")
    assert data(live, "find-hanging", "--topic", filled) == []
    assert live("consume", filled, "-p", "0", "--from", "10").out == "behind\n"


def test_a_transaction_that_does_not_hang_is_left_to_its_coordinator(
    live: Headrace, open_transaction_of: Open, transactional_id: str, filled: str
) -> None:
    """Neither found nor aborted without --force, which would tear it apart."""
    with open_transaction_of(transactional_id, filled, [0]) as producer:
        assert data(live, "find-hanging", "--topic", filled, "--older-than", "0s") == []
        words = ["abort", "-t", filled, "-p", "0", "--start-offset", "10"]
        refused = live("transaction", *words)
        assert refused.code == 1
        assert f"force-terminate {transactional_id}" in refused.err
        producer.commit_transaction(30)
    assert "uncommitted" in live("consume", filled, "-p", "0").out


def test_force_aborts_what_a_coordinator_knows(
    live: Headrace, open_transaction_of: Open, transactional_id: str, filled: str
) -> None:
    """The marker goes into the partition; the transaction is no longer open there."""
    with open_transaction_of(transactional_id, filled, [0]):
        words = ["abort", "-t", filled, "-p", "0", "--start-offset", "10", "--force"]
        assert data(live, *words)[0]["result"] == "aborted"
        (row,) = data(live, "producers", f"{filled}:0")
        assert row["start_offset"] is None


def test_a_partition_that_is_not_there_is_a_failure(live: Headrace, topic: str) -> None:
    """Its neighbours are named; what is no partition at all is wrong usage."""
    missing = live("transaction", "producers", f"{topic}:5")
    assert missing.code == 1
    assert f'topic "{topic}" has no partition 5; it has 0 to 0' in missing.err
    assert live("transaction", "producers", f"{topic}-x:0").code == 1
    for word in (topic, f"{topic}:x", ":0"):
        assert live("transaction", "producers", word).code == 2
