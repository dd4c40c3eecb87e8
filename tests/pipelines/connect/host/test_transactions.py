"""Records and the offsets of their source in one transaction, whatever happens between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.client.settings import client_settings
from headrace.pipelines.connect.faults import IllegalArgumentException
from headrace.pipelines.connect.host.fencing import fence
from headrace.pipelines.connect.host.transactional_loop import Requests
from headrace.pipelines.connect.state import json_text
from headrace.pipelines.connect.state.records import State
from tests.pipelines.connect.host.running import Tasks, committed, numbers, patiently

Hosts = Callable[..., Tasks]


def positions(bootstrap: str, name: str) -> list[object]:
    """Where the source stood at the end of each transaction."""
    found = committed(bootstrap, f"{name}-offsets")
    assert {message.key() for message in found} <= {b'["%s",{"source":"numbers"}]' % name.encode()}
    return [json_text.decode(message.value() or b"") for message in found]


def test_a_transaction_for_each_poll(hosts: Hosts, bootstrap: str, topic: str) -> None:
    tasks = hosts()
    config = tasks.counting(topic, topic, upto=100, batches=2)
    task = tasks.start(tasks.spec(topic, config, once=True))
    patiently(lambda: len(numbers(bootstrap, topic)) == 100, lambda: tasks.traces)
    assert tasks.launcher.stop([task], 60) == []
    assert numbers(bootstrap, topic) == list(range(100))
    assert positions(bootstrap, topic) == [{"next": at} for at in range(20, 101, 20)]
    tasks.start(tasks.spec(topic, config | {"upto": "130"}, once=True))
    patiently(lambda: len(numbers(bootstrap, topic)) == 130, lambda: tasks.traces)
    assert numbers(bootstrap, topic) == list(range(130))


def test_a_transaction_for_an_interval(hosts: Hosts, bootstrap: str, topic: str) -> None:
    """Nothing is seen before its end; the end of the task is one."""
    tasks = hosts()
    interval = {"transaction_boundary": "interval", "transaction_boundary_interval_ms": 3_600_000}
    task = tasks.start(
        tasks.spec(topic, tasks.counting(topic, topic, upto=50, **interval), once=True)
    )
    patiently(lambda: len(numbers(bootstrap, topic, uncommitted=True)) == 50)
    assert numbers(bootstrap, topic) == []
    tasks.launcher.pause([task])
    tasks.until(task, State.PAUSED)
    assert numbers(bootstrap, topic) == list(range(50))
    assert positions(bootstrap, topic) == [{"next": 50}]
    tasks.launcher.stop([task], 60)
    soon = {**interval, "transaction_boundary_interval_ms": 1}
    tasks.start(tasks.spec(topic, tasks.counting(topic, topic, upto=60, **soon), once=True))
    patiently(lambda: numbers(bootstrap, topic) == list(range(60)), lambda: tasks.traces)


def test_transactions_where_the_connector_says(hosts: Hosts, bootstrap: str, topic: str) -> None:
    """After two batches each; batch 4 is aborted, and not polled again."""
    tasks = hosts()
    config = tasks.counting(
        topic, topic, upto=95, commits=2, aborts=4, batches=3, transaction_boundary="connector"
    )
    task = tasks.start(tasks.spec(topic, config, once=True))
    patiently(lambda: len(numbers(bootstrap, topic, uncommitted=True)) == 95)
    assert tasks.launcher.stop([task], 60) == []
    assert tasks.states[task] == [State.RUNNING, State.UNASSIGNED], tasks.traces
    assert numbers(bootstrap, topic) == [*range(40), *range(50, 95)]
    assert positions(bootstrap, topic) == [{"next": at} for at in (20, 40, 50, 60, 80, 95)]


def test_both_ends_of_a_transaction_are_a_fault() -> None:
    requests = Requests()
    requests.commit()
    with pytest.raises(IllegalArgumentException, match="both commit and abort of same transaction"):
        requests.abort()


def test_a_transaction_that_was_fenced_never_counts(
    hosts: Hosts, bootstrap: str, topic: str
) -> None:
    """The leader fences; the task that comes later goes on where the last commit was."""
    tasks = hosts()
    settings, _ = client_settings({"bootstrap.servers": bootstrap})
    open_end = {"transaction_boundary": "connector", "commits": 3}
    config = tasks.counting(topic, topic, upto=50, **open_end)
    task = tasks.start(tasks.spec(topic, config, once=True))
    patiently(lambda: len(numbers(bootstrap, topic, uncommitted=True)) == 50)
    assert numbers(bootstrap, topic) == list(range(30))
    fence(settings, [f"connect-{topic}-0"])
    tasks.launcher.stop([task], 60)
    assert numbers(bootstrap, topic) == list(range(30))
    whole = tasks.counting(topic, topic, upto=50)
    tasks.start(tasks.spec(topic, whole, once=True))
    patiently(lambda: numbers(bootstrap, topic) == list(range(50)), lambda: tasks.traces)


def test_a_zombie_is_fenced_by_its_successor(hosts: Hosts, bootstrap: str, topic: str) -> None:
    """Two hosts believe that a task is theirs: the older one fails, and nothing is there twice."""
    older, newer = hosts(), hosts()
    endless = older.counting(topic, topic, upto=10_000_000, rows=1)
    zombie = older.start(older.spec(topic, endless, once=True))
    patiently(lambda: len(numbers(bootstrap, topic)) > 2, lambda: older.traces)
    newer.start(newer.spec(topic, endless, once=True))
    older.until(zombie, State.FAILED)
    told = older.traces[-1]
    assert f"Failed to flush offsets and/or records for task {topic}-0" in told or (
        "Unrecoverable exception trying to send" in told
    ), told
    fenced, ended = (
        "Another producer has begun under the same transactional id",
        "INVALID_TXN_STATE",
    )
    assert fenced in told or ended in told, told  # at its next record, or at the end of its own
    before = len(numbers(bootstrap, topic))
    patiently(lambda: len(numbers(bootstrap, topic)) > before + 2, lambda: newer.traces)
    found = numbers(bootstrap, topic)
    assert found == list(range(len(found)))


def test_a_transaction_that_takes_too_long(hosts: Hosts, bootstrap: str, topic: str) -> None:
    """The brokers abort it, and the task says what to do about it."""
    tasks = hosts(**{"producer.transaction.timeout.ms": "500"})
    config = tasks.counting(topic, topic, upto=10, transaction_boundary="connector")
    task = tasks.start(tasks.spec(topic, config, once=True))
    patiently(lambda: len(numbers(bootstrap, topic, uncommitted=True)) == 10)
    open_end = numbers(bootstrap, topic)
    assert open_end == []
    tasks.launcher.stop([task], 60)
    slow = tasks.counting(topic, topic, upto=10_000_000, rows=1, transaction_boundary="interval")
    slow["transaction.boundary.interval.ms"] = "3600000"
    task = tasks.start(tasks.spec(topic, slow, once=True))
    tasks.until(task, State.FAILED)
    assert f"Task {topic}-0 was unable to finish writing records to Kafka before" in tasks.traces[0]
    assert "increase the transaction timeout for the connector's producers" in tasks.traces[0]
    assert numbers(bootstrap, topic) == []


def test_offsets_are_not_written_by_records(hosts: Hosts, topic: str) -> None:
    tasks = hosts()
    config = tasks.counting(topic, f"{topic}-offsets")
    task = tasks.start(tasks.spec(topic, config, once=True))
    tasks.until(task, State.FAILED)
    assert "may not produce to their own offsets topics" in tasks.traces[0]
