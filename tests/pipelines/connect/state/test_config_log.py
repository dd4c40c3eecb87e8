"""A replay of the config topic, beside KafkaConfigBackingStore's."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import (
    Change,
    ConfigLog,
    ConnectorChanged,
    ConnectorRemoved,
    LoggerLevelChanged,
    SessionKeyChanged,
    Snapshot,
    Strange,
    TargetStateChanged,
    TasksChanged,
)
from headrace.pipelines.connect.state.records import RestartRequest, SessionKey, TargetState
from tests.pipelines.connect.real import TIMEOUT_SECONDS, Real, cases

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

RECORDED = Path(__file__).parents[1] / "recorded" / "topics.json"

connectors = st.sampled_from(["a", "b", "b-0", "c"])
properties = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]))
counts = st.integers(0, 3)


def written(write: records.Write) -> tuple[str, str | None]:
    """A record as text."""
    key, value = write
    return key.decode(), None if value is None else value.decode()


def removed(name: str) -> tuple[str, None]:
    """The record that deletes a connector."""
    return f"connector-{name}", None


damaged = st.sampled_from(
    [
        ("connector-a", "[]"),
        ("connector-a", '{"properties":[]}'),
        ("connector-a", "{"),
        ("task-a-x", '{"properties":{}}'),
        ("task-a", '{"properties":{}}'),
        ("task-a-0", "7"),
        ("target-state-a", "[]"),
        ("target-state-a", '{"state":"NONE"}'),
        ("target-state-a", '{"state":"PAUSED"}'),
        ("target-state-a", '{"state":"PAUSED","state.v2":null}'),
        ("target-state-a", "{}"),
        ("target-state-a", None),
        ("restart-connector-a", '{"only-failed":1}'),
        ("restart-connector-a", "{}"),
        ("restart-connector-a", None),
        ("session-key", None),
        ("session-key", "[]"),
        ("logger-cluster-x", None),
        ("logger-cluster-x", '{"level":7}'),
        ("strange", "{}"),
        ("commit-c", None),
    ]
)
well_formed = st.one_of(
    st.builds(records.connector_config, connectors, properties).map(written),
    st.builds(records.task_config, st.builds(TaskId, connectors, counts), properties).map(written),
    st.builds(records.tasks_commit, connectors, counts).map(written),
    st.builds(records.target_state, connectors, st.sampled_from(TargetState)).map(written),
    st.builds(records.task_count, connectors, counts).map(written),
    st.builds(
        records.restart, st.builds(RestartRequest, connectors, st.booleans(), st.booleans())
    ).map(written),
    st.builds(records.logger_level, st.sampled_from(["x", "y"]), st.just("WARN")).map(written),
    st.builds(
        records.session_key,
        st.builds(SessionKey, st.binary(min_size=1), st.just("HmacSHA256"), st.integers(0, 2**40)),
    ).map(written),
    connectors.map(removed),
)
streams = st.lists(well_formed | well_formed | well_formed | damaged, max_size=40)


def events(changes: list[Change]) -> list[object]:
    """What changed, as the program tells it."""
    return [event for change in changes if (event := _event(change)) is not None]


def _event(change: Change) -> list[object] | None:
    match change:
        case ConnectorChanged(name):
            return ["changed", name]
        case ConnectorRemoved(name):
            return ["removed", name]
        case TasksChanged(_, tasks):
            return ["tasks", sorted(map(str, tasks))]
        case TargetStateChanged(name):
            return ["target", name]
        case SessionKeyChanged(key):
            return ["key", base64.b64encode(key.key).decode(), key.algorithm, key.created_ms]
        case RestartRequest(name, only_failed, include_tasks):
            return ["restart", name, only_failed, include_tasks]
        case LoggerLevelChanged(logger, level):
            return ["logger", logger, level]
        case _:
            return None


def shown(state: Snapshot, changes: list[Change]) -> dict[str, object]:
    """The state as the program tells it."""
    return {
        "offset": state.offset,
        "events": events(changes),
        "inconsistent": sorted(state.inconsistent),
        "connectors": {
            name: {
                "settings": settings,
                "state": state.target_states[name].value,
                "tasks": [str(task) for task in state.tasks(name)],
                "task settings": [state.task_settings[task] for task in state.tasks(name)],
                "fenced": state.fenced_counts.get(name),
                "pending": name in state.pending_fencing,
                "generation": state.task_generations.get(name),
                "applied": state.applied.get(name),
            }
            for name, settings in state.connectors.items()
        },
    }


@settings(
    max_examples=cases(50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(stream=streams)
def test_a_replay_gives_what_connect_has(real: Real, stream: list[tuple[str, str | None]]) -> None:
    """Any records in any order: the same snapshot, and the same events on the way."""
    log = ConfigLog()
    changes = [
        log.replay(offset, key.encode(), None if value is None else value.encode())
        for offset, (key, value) in enumerate(stream)
    ]
    assert shown(log.snapshot(), changes) == real.ask({"replay": stream})


def recorded(topic: str) -> list[tuple[bytes, bytes | None]]:
    """What a real worker wrote to a topic."""
    pairs = json.loads(RECORDED.read_text())[f"recorded-{topic}"]
    return [
        (base64.b64decode(key), None if value is None else base64.b64decode(value))
        for key, value in pairs
    ]


@pytest.mark.spec("admin:CN-03")
def test_the_topic_of_a_real_worker() -> None:
    """Connectors, tasks and states are those that the worker had when it was recorded."""
    log = ConfigLog()
    for offset, (key, value) in enumerate(recorded("config")):
        assert not isinstance(log.replay(offset, key, value), Strange)
    state = log.snapshot()
    assert set(state.connectors) == {"s", "k"}
    assert state.target_states == {"s": TargetState.STARTED, "k": TargetState.STOPPED}
    assert state.tasks("s") == (TaskId("s", 0), TaskId("s", 1))
    assert state.task_settings[TaskId("s", 1)]["task.class"] == "RecordedSource$RecordedTask"
    assert state.tasks("k") == ()
    assert state.fenced_counts == {"s": 2, "f": 1}
    assert state.logger_levels == {"org.apache.kafka.connect.runtime": "WARN"}
    assert state.session_key is not None
    assert len(state.session_key.key) == 32


def test_our_records_are_those_of_a_real_worker() -> None:
    """Each record of the config topic, made anew from what was read, has the same bytes."""
    for key, value in recorded("config"):
        assert remade(key, value) == (key, value)


def remade(key: bytes, value: bytes | None) -> records.Write | None:
    """The record that ours would write for the same fact."""
    told = {} if value is None else json.loads(value)
    match key.decode().split("-"):
        case ["connector", name]:
            if value is None:
                return records.removal(name)[0]
            return records.connector_config(name, told["properties"])
        case ["task", name, number]:
            return records.task_config(TaskId(name, int(number)), told["properties"])
        case ["commit", name]:
            return records.tasks_commit(name, told["tasks"])
        case ["target", "state", name]:
            if value is None:
                return records.removal(name)[1]
            return records.target_state(name, TargetState(told["state.v2"]))
        case ["tasks", "fencing", name]:
            return records.task_count(name, told["task-count"])
        case ["restart", "connector", name]:
            only_failed, tasks = told["only-failed"], told["include-tasks"]
            return records.restart(RestartRequest(name, only_failed, tasks))
        case ["logger", "cluster", name]:
            return records.logger_level(name, told["level"])
        case ["session", "key"]:
            made = base64.b64decode(told["key"])
            return records.session_key(
                SessionKey(made, told["algorithm"], told["creation-timestamp"])
            )
    return None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session-key", '{"key":"é","algorithm":"HmacSHA256","creation-timestamp":1}'),
        ("connector-a", '{"properties":{"x":1}}'),
        ("connector-a", '{"properties":{"x":"\\ud800"}}'),
        ("task-a-" + "9" * 5000, '{"properties":{}}'),
        ("connector-a", "[" * 100_000),
    ],
)
def test_what_no_worker_writes_is_passed_over(key: str, value: str) -> None:
    """Whoever follows the topic goes on after it."""
    log = ConfigLog()
    assert isinstance(log.replay(0, key.encode(), value.encode()), Strange)
    assert log.snapshot().connectors == {}
    assert log.snapshot().session_key is None
    log.replay(1, *records.connector_config("b", {"x": "1"}))
    assert log.snapshot().connectors == {"b": {"x": "1"}}


def test_a_setting_of_null_is_none() -> None:
    """A worker of Java writes what it was sent, null included."""
    log = ConfigLog()
    log.replay(0, b"connector-a", b'{"properties":{"x":null,"y":"1"}}')
    assert log.snapshot().connectors == {"a": {"y": "1"}}
