"""Decisions about connectors: the recorded life of a real cluster, decided by ours.

Every call of the recording is put to ours, in the state that the recorded records give. Faults must
have the code and message that the worker answered, and records must be those that it wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from headrace.pipelines.connect.config.report import report
from headrace.pipelines.connect.config.validate import validate
from headrace.pipelines.connect.faults import (
    BadRequestException,
    ConnectException,
    NotFoundException,
    RebalanceNeededException,
)
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.herder import cluster, decisions, offsets, restarts, tasks
from headrace.pipelines.connect.herder.codes import code_of
from headrace.pipelines.connect.herder.states import FOLLOWING, WANTED, settled
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import ConfigLog, Snapshot
from headrace.pipelines.connect.state.records import (
    RestartRequest,
    SessionKey,
    State,
    Status,
    TargetState,
    Write,
)
from headrace.pipelines.connect.state.status_log import StatusLog
from tests.pipelines.connect.config.test_validate import WORKER, Known
from tests.pipelines.connect.real import Real
from tests.pipelines.connect.state.test_config_log import recorded

LIFE = json.loads((Path(__file__).parents[1] / "recorded" / "answers.json").read_text())["life"]
# Answered from elsewhere: statuses, and requests that are not understood.
ELSEWHERE = ("/status", "/connector-plugins/", "/topics/reset")
CONNECTOR = re.compile(r"/connectors/(\w+)(/[\w/]+)?(\?.*)?$")


class Cluster:
    """Ours, in the state that the recorded records give so far."""

    def __init__(self) -> None:
        self.topic = recorded("config")
        self.log = ConfigLog()
        self.at = 0

    @property
    def snapshot(self) -> Snapshot:
        """What decisions read."""
        return self.log.snapshot()

    def wrote(self, writes: list[Write]) -> None:
        """These are the next records of the recording, and count from now on."""
        for key, value in writes:
            known, text = self.topic[self.at]
            assert (key, value and json.loads(value)) == (known, text and json.loads(text))
            self.log.replay(self.at, known, text)
            self.at += 1

    def follow(self) -> None:
        """What the leader itself does next: tasks of a connector, and fencing before they start."""
        while self.at < len(self.topic):
            key = self.topic[self.at][0].decode()
            if key == records.SESSION_KEY:
                known = ConfigLog()
                known.replay(0, *self.topic[self.at])
                made = known.snapshot().session_key
                assert made is not None
                assert cluster.wants_session_key(self.snapshot, made.created_ms, 3_600_000)
                self.wrote(cluster.rotate(made))
            elif key.startswith(records.TASK):
                self.tasks()
            elif key.startswith(records.FENCING):
                name = key.removeprefix(records.FENCING)
                self.wrote(tasks.fence(self.snapshot, name).writes)
            else:
                return

    def tasks(self) -> None:
        """The next records are the tasks of a connector and their commit."""
        made: list[dict[str, str]] = []
        while (key := self.topic[self.at + len(made)][0].decode()).startswith(records.TASK):
            value = self.topic[self.at + len(made)][1]
            assert value is not None
            made.append(json.loads(value)["properties"])
        name = key.removeprefix(records.COMMIT)
        self.wrote(tasks.configure_tasks(self.snapshot, name, made))
        assert tasks.configure_tasks(self.snapshot, name, made) == [], "nothing has changed"


def decide(state: Snapshot, call: Mapping[str, object]) -> list[Write] | None:
    """What ours decides; None for what it does not decide here."""
    method, path, body = str(call["method"]), str(call["path"]), call["body"]
    if path.endswith(ELSEWHERE) or "config/validate" in path:
        return None
    if path.startswith("/admin/loggers/"):
        assert isinstance(body, dict)
        logger = path.removeprefix("/admin/loggers/").partition("?")[0]
        return cluster.set_logger_level(logger, body["level"])
    if path == "/connectors":
        return created(state, body) if method == "POST" else None
    found = CONNECTOR.match(path)
    assert found is not None, path
    name, action, query = found[1], found[2] or "", found[3] or ""
    if method == "GET":
        decisions.known(state, name)
        return []
    if action == "/restart":
        return restarted(state, name, query)
    if action == "/tasks/0/restart" or action == "/tasks/9/restart":
        restarts.restart_task(state, TaskId(name, int(action.split("/")[2])))
        return []
    if action == "/config":
        assert isinstance(body, dict)
        given = body if method == "PUT" else decisions.patched(state, name, body)
        settings = decisions.named(name, given)
        return decisions.configure(name, settings, validate(settings, Known(), WORKER))
    if action == "/offsets":
        return altered(state, name, body) if method == "PATCH" else reset(state, name)
    plain = {
        "/pause": decisions.pause,
        "/resume": decisions.resume,
        "/stop": decisions.stop,
        "": decisions.delete,
    }
    return plain[action](state, name)


def created(state: Snapshot, body: object) -> list[Write] | None:
    """POST /connectors."""
    assert isinstance(body, dict)
    initial = body.get("initial_state")
    if initial == "SLEEPING":
        return None
    settings = decisions.named(body["name"], body["config"])
    infos = validate(settings, Known(), WORKER)
    aim = None if initial is None else TargetState(initial)
    return decisions.create(state, body["name"], settings, infos, aim)


def restarted(state: Snapshot, name: str, query: str) -> list[Write]:
    """POST …/restart."""
    wish = RestartRequest(name, "onlyFailed=true" in query, "includeTasks=true" in query)
    if not query:
        restarts.restart_connector(state, name)
        return []
    return restarts.restart(state, wish)


def altered(state: Snapshot, name: str, body: object) -> list[Write]:
    """PATCH …/offsets."""
    assert isinstance(body, dict)
    pairs = [(each["partition"], each["offset"]) for each in body.get("offsets", ())]
    asked = offsets.some(pairs)
    offsets.modifiable(state, name)
    if name == "k":
        offsets.of_sink(asked)
    return []


def reset(state: Snapshot, name: str) -> list[Write]:
    """DELETE …/offsets."""
    offsets.modifiable(state, name)
    return []


@pytest.mark.spec("admin:CN-08")
def test_the_recorded_life_of_a_cluster() -> None:
    """The same faults in the same words, and the same records in the same order."""
    life = Cluster()
    decided = 0
    for call in LIFE:
        life.follow()
        told = call["answer"]
        try:
            writes = decide(life.snapshot, call)
        except ConnectException as fault:
            # Java's classes are listed otherwise than ours.
            listed = "available connectors are: "
            said = (int(code_of(fault)), str(fault).split(listed)[0])
            assert said == (told["error_code"], told["message"].split(listed)[0]), call["path"]
            decided += 1
            continue
        if writes is None:
            continue
        assert call["code"] < 300, (call, "ours has nothing against it")
        life.wrote(writes)
        decided += 1
    life.follow()
    assert life.at == len(life.topic)
    assert decided == 45


def test_recorded_statuses_follow_the_table() -> None:
    """Each status that a real worker wrote is one that may follow the one before."""
    log = StatusLog()
    steps = 0
    for key, value in recorded("status"):
        before = {name: log.connector(name) for name in log.connectors()}
        own = {task: log.task(task) for name in ("s", "f", "k") for task in log.tasks(name)}
        log.replay(key, value)
        for name, status in before.items():
            now = log.connector(name)
            if status is not None and now is not None and now != status:
                assert now.state in FOLLOWING[status.state]
                steps += 1
        for task, status in own.items():
            now = log.task(task)
            if status is not None and now is not None and now != status:
                assert now.state in FOLLOWING[status.state]
                steps += 1
    assert steps > 20
    assert all(settled(target, WANTED[target]) for target in TargetState)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Connect's reader of sink offsets."""
    source = Path(__file__).with_name("SinkOffsets.java")
    with Real(source, tmp_path_factory.mktemp("real") / "offsets") as program:
        yield program


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        (None, None),
        ({}, None),
        ({"kafka_topic": "t"}, None),
        ({"kafka_topic": None, "kafka_partition": 1}, None),
        ({"kafka_topic": "t", "kafka_partition": None}, None),
        ({"kafka_topic": "t", "kafka_partition": "x"}, None),
        ({"kafka_topic": "t", "kafka_partition": 1.5}, None),
        ({"kafka_topic": "t", "kafka_partition": True}, None),
        ({"kafka_topic": "t", "kafka_partition": 2**31}, None),
        ({"kafka_topic": "t", "kafka_partition": "+2"}, {"kafka_offset": 7}),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": "8"}),
        ({"kafka_topic": "t", "kafka_partition": 0}, None),
        ({"kafka_topic": 7, "kafka_partition": 0}, {}),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": None}),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": "z"}),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 2**63}),
    ],
)
def test_offsets_of_a_sink_are_read_as_connect_reads_them(
    real: Real, partition: dict[str, object] | None, offset: dict[str, object] | None
) -> None:
    """The same places and numbers, or the same fault."""
    assert sink_offsets(partition, offset) == real.ask([[partition, offset]])


def sink_offsets(partition: dict[str, object] | None, offset: dict[str, object] | None) -> object:
    """What ours reads, as the program tells it."""
    try:
        read = offsets.of_sink([(partition, offset)])
    except BadRequestException as fault:
        return {"error": str(fault)}
    return [[topic, number, at] for (topic, number), at in read.items()]


def state_of(*writes: Write) -> Snapshot:
    """The snapshot after these records."""
    log = ConfigLog()
    for offset, (key, value) in enumerate(writes):
        log.replay(offset, key, value)
    return log.snapshot()


@pytest.mark.parametrize(
    ("before", "count", "fenced"),
    [(None, 2, 0), (1, 1, 0), (2, 1, 2), (1, 2, 1), (3, 3, 3), (0, 2, 0)],
)
def test_fencing(before: int | None, count: int, fenced: int) -> None:
    """Old tasks are fenced unless there were none, or one that its successor fences by itself."""
    own = records.task_configs("a", [{}] * count)
    counted = [] if before is None else [records.task_count("a", before)]
    state = state_of(records.connector_config("a", {}), *counted, *own)
    made = tasks.fence(state, "a")
    assert made.tasks == fenced
    assert made.writes == [records.task_count("a", count)]
    settled_state = state_of(records.connector_config("a", {}), *own, *made.writes)
    assert tasks.fence(settled_state, "a") == tasks.Fencing(0, [])


@pytest.mark.spec("admin:CN-03")
def test_tasks_are_at_most_tasks_max() -> None:
    """More are a fault of the connector, unless that is allowed; a stopped one gets none."""
    state = state_of(records.connector_config("a", {"tasks.max": "1"}))
    with pytest.raises(ConnectException, match="has generated 2 tasks, which is greater than 1"):
        tasks.configure_tasks(state, "a", [{}, {}])
    lenient = {"tasks.max": "1", "tasks.max.enforce": "false"}
    state = state_of(records.connector_config("a", lenient))
    assert len(tasks.configure_tasks(state, "a", [{}, {}])) == 3
    stopped = state_of(
        records.connector_config("a", {}), records.target_state("a", TargetState.STOPPED)
    )
    assert tasks.configure_tasks(stopped, "a", [{}]) == []


def test_tasks_are_written_when_the_connectors_settings_changed() -> None:
    """And when a part of them was lost, though what the connector asks for is the same."""
    own = records.task_configs("a", [{"n": "0"}])
    first = records.connector_config("a", {"x": "1"})
    state = state_of(first, *own)
    assert tasks.configure_tasks(state, "a", [{"n": "0"}]) == []
    changed = state_of(first, *own, records.connector_config("a", {"x": "2"}))
    assert tasks.configure_tasks(changed, "a", [{"n": "0"}]) == own
    torn = state_of(first, own[-1])
    assert torn.inconsistent == {"a"}
    assert tasks.configure_tasks(torn, "a", [{"n": "0"}]) == own


def test_what_a_restart_is_about() -> None:
    """The connector, its tasks, or only those that failed."""
    own = {
        TaskId("a", 0): Status(State.RUNNING, "w", 1),
        TaskId("a", 1): Status(State.FAILED, "w", 1),
    }
    running = Status(State.RUNNING, "w", 1)

    def plan(only_failed: bool, include_tasks: bool) -> restarts.RestartPlan:
        wish = RestartRequest("a", only_failed, include_tasks)
        return restarts.plan_restart(wish, running, own)

    assert plan(False, False) == restarts.RestartPlan(True, ())
    assert plan(True, False) == restarts.RestartPlan(False, ())
    assert plan(False, True) == restarts.RestartPlan(True, tuple(own))
    assert plan(True, True) == restarts.RestartPlan(False, (TaskId("a", 1),))
    with pytest.raises(NotFoundException, match="Status for connector a not found"):
        restarts.plan_restart(RestartRequest("a"), None, {})


def test_session_keys_have_a_lifetime() -> None:
    """A new one when there is none or it is over; a lifetime of zero never is."""
    state = state_of(records.session_key(SessionKey(b"k", "HmacSHA256", 1_000)))
    assert cluster.wants_session_key(state_of(), 0, 10)
    assert not cluster.wants_session_key(state, 1_009, 10)
    assert cluster.wants_session_key(state, 1_010, 10)
    assert not cluster.wants_session_key(state, 10**12, 0)


def test_codes() -> None:
    """What is nobody's fault in particular is the server's."""
    assert code_of(RebalanceNeededException("soon")) == 409
    assert code_of(ConnectException("odd")) == 500
    assert decisions.configure("a", {}, report("x", [])) == [records.connector_config("a", {})]
