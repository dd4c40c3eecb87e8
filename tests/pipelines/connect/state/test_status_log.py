"""A replay of the status topic, beside KafkaStatusBackingStore's."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.records import State, Status, TopicStatus
from headrace.pipelines.connect.state.status_log import StatusLog, may_write
from tests.pipelines.connect.real import TIMEOUT_SECONDS, Real, cases
from tests.pipelines.connect.state.test_config_log import recorded, written

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

NAMES = ["a", "b-0", "c"]

connectors = st.sampled_from(NAMES)
statuses = st.builds(
    Status,
    st.sampled_from(State),
    st.sampled_from(["w1", "w2"]),
    st.integers(0, 3),
    st.none() | st.just("trace"),
    st.none() | st.just("1.0"),
)
damaged = st.sampled_from(
    [
        ("status-connector-a", "{}"),
        ("status-connector-a", "["),
        ("status-connector-a", '{"state":"ODD","worker_id":"w","generation":1}'),
        ("status-connector-", '{"state":"RUNNING","worker_id":"w","generation":1}'),
        ("status-task-a", '{"state":"RUNNING","worker_id":"w","generation":1}'),
        ("status-task-a-x", '{"state":"RUNNING","worker_id":"w","generation":1}'),
        ("status-topic-x", None),
        ("status-topic-:connector-a", "{}"),
        ("status-topic-x:connector-", "{}"),
        ("status-topic-x:connector-a", '{"topic":7}'),
        ("strange", "{}"),
    ]
)
streams = st.lists(
    st.one_of(
        st.builds(records.connector_status, connectors, statuses).map(written),
        st.builds(
            records.task_status, st.builds(TaskId, connectors, st.integers(0, 2)), statuses
        ).map(written),
        st.builds(
            records.topic_status,
            st.builds(
                TopicStatus,
                st.sampled_from(["x", "y-1"]),
                connectors,
                st.integers(0, 2),
                st.integers(0, 2**40),
            ),
        ).map(written),
        connectors.map(lambda name: (f"status-topic-x:connector-{name}", None)),
        damaged,
    ),
    max_size=40,
)


def told(name: object, status: Status) -> str:
    """A status as Connect prints it."""
    return (
        f"Status{{id={name}, state={status.state.value}, workerId='{status.worker_id}', "
        f"version='{'null' if status.version is None else status.version}', "
        f"generation={status.generation}}}"
    )


@settings(
    max_examples=cases(50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(stream=streams)
def test_a_replay_gives_what_connect_has(real: Real, stream: list[tuple[str, str | None]]) -> None:
    """Any records in any order: the same statuses of connectors, tasks and topics."""
    log = StatusLog()
    for key, value in stream:
        log.replay(key.encode(), None if value is None else value.encode())
    known = {name: log.connector(name) for name in sorted(log.connectors())}
    assert real.ask({"statuses": stream}) == {
        "connectors": {name: told(name, status) for name, status in known.items() if status},
        "tasks": {
            name: sorted(told(task, status) for task, status in log.tasks(name).items())
            for name in NAMES
        },
        "topics": {
            name: sorted(
                f"{used.topic} {used.connector} {used.task} {used.discovered_ms}"
                for used in log.topics(name)
            )
            for name in NAMES
        },
    }


def test_the_topic_of_a_real_worker() -> None:
    """What a recorded worker last said, and the same bytes when a record is written anew."""
    log = StatusLog()
    for key, value in recorded("status"):
        log.replay(key, value)
        if value is not None:
            assert rewritten(key, value) == (key, value)
    running = log.connector("s")
    assert running is not None
    assert (running.state, running.version) == (State.RUNNING, "1.0")
    assert [task.task for task in log.tasks("s")] == [0, 1]
    assert log.topics("s") == [], "they were reset"


def rewritten(key: bytes, value: bytes) -> records.Write:
    """A record that is read, and written again."""
    log = StatusLog()
    log.replay(key, value)
    name = key.decode()
    if name.startswith(records.TOPIC_STATUS):
        (used,) = log.topics(json.loads(value)["topic"]["connector"])
        return records.topic_status(used)
    if name.startswith(records.CONNECTOR_STATUS):
        connector = name.removeprefix(records.CONNECTOR_STATUS)
        status = log.connector(connector)
        assert status is not None
        return records.connector_status(connector, status)
    task = records.task_of(name.removeprefix(records.TASK_STATUS))
    assert task is not None
    status = log.task(task)
    assert status is not None
    return records.task_status(task, status)


def test_what_is_written_when_topics_are_reset_and_a_connector_goes() -> None:
    """The tombstone that the recorded worker wrote; and after the others nothing is known."""
    log = StatusLog()
    topic = recorded("status")
    reset = next(
        place
        for place, (key, value) in enumerate(topic)
        if value is None and key.startswith(b"status-topic-")
    )
    for key, value in topic[:reset]:
        log.replay(key, value)
    assert log.topic_resets("s") == [topic[reset]]
    for key, value in log.removal("s"):
        log.replay(key, value)
    assert log.connector("s") is None
    assert log.tasks("s") == {}
    assert log.topics("s") == []


def test_a_late_record_does_not_unassign_a_task() -> None:
    """One of the same generation is late; one of a later generation is not."""
    log = StatusLog()
    task = TaskId("a", 0)
    log.replay(*records.task_status(task, Status(State.RUNNING, "new", 5)))
    for generation, state in ((4, State.RUNNING), (5, State.RUNNING), (6, State.UNASSIGNED)):
        log.replay(*records.task_status(task, Status(State.UNASSIGNED, "old", generation)))
        known = log.task(task)
        assert known is not None
        assert known.state is state


@pytest.mark.parametrize(
    ("known", "status", "may"),
    [
        (None, Status(State.RUNNING, "w1", 1), True),
        (Status(State.RUNNING, "w1", 5), Status(State.UNASSIGNED, "w1", 4), True),
        (Status(State.RUNNING, "w1", 5), Status(State.UNASSIGNED, "w2", 4), False),
        (Status(State.RUNNING, "w1", 5), Status(State.RUNNING, "w2", 5), True),
        (Status(State.RUNNING, "w1", 5), Status(State.RUNNING, "w2", 6), True),
    ],
)
def test_a_worker_that_lost_a_task_does_not_speak_for_it(
    known: Status | None, status: Status, may: bool
) -> None:
    """A status of another worker and an older generation is not written."""
    assert may_write(known, status) is may


def test_the_number_of_a_task_has_an_end() -> None:
    """Whoever follows the topic goes on after a key that no worker writes."""
    log = StatusLog()
    said = Status(State.RUNNING, "w", 1)
    _, value = records.task_status(TaskId("a", 0), said)
    log.replay(b"status-task-a-" + b"9" * 5000, value)
    log.replay(b"status-task-a-%d" % 2**31, value)
    log.replay(b"status-task-a-0", value)
    assert log.tasks("a") == {TaskId("a", 0): said}
