"""Workers that share connectors, in this process: one, several, and what they are asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.pipelines.connect.faults import (
    AlreadyExistsException,
    BadRequestException,
    ConnectRestException,
    NotFoundException,
    RebalanceNeededException,
)
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.records import RestartRequest, State, TargetState
from headrace.pipelines.connect.worker.distributed import Distributed
from headrace.pipelines.connect.worker.worker import NotTheLeader, NotTheOwner, Signature
from tests.pipelines.connect.worker.clustering import (
    Node,
    runs,
    sink,
    source,
    states,
    until,
)
from tests.pipelines.connect.worker.running import values, write

pytestmark = pytest.mark.timeout(300)
Start = Callable[..., Node]


def test_a_connector_lives_on_one_worker(
    node: Start, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """Created, paused, resumed, restarted, stopped, its offsets moved, deleted."""
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    worker = node().worker
    made = worker.create("s", source(lines, topic), None)
    assert made.tasks == (TaskId("s", 0),)
    assert worker.status("s").tasks.keys() == {TaskId("s", 0)}, "before anybody says what it does"
    until("it runs", lambda: runs(worker, "s"))
    # In which round is not said: a session that is lost under load adds rounds of its own.
    until("one rebalance brings the connector and its task", lambda: is_of_one_round(worker, "s"))
    assert values(bootstrap, topic, 2) == [b"one", b"two"]
    with pytest.raises(AlreadyExistsException):
        worker.create("s", source(lines, topic), None)
    with pytest.raises(BadRequestException, match="STOPPED state before"):
        worker.reset_offsets("s")

    worker.aim("s", TargetState.PAUSED)
    until("it pauses", lambda: states(worker, "s") == [State.PAUSED] * 2)
    worker.aim("s", TargetState.STARTED)
    until("it goes on", lambda: runs(worker, "s"))

    told = worker.restart(RestartRequest("s", include_tasks=True))
    assert told.status.state is State.RESTARTING
    assert told.tasks[TaskId("s", 0)].state is State.RESTARTING
    until("it runs again", lambda: runs(worker, "s"))
    worker.restart_task(TaskId("s", 0))
    worker.restart_connector("s")
    until("it runs once more", lambda: runs(worker, "s"))

    worker.aim("s", TargetState.STOPPED)
    until("it stops", lambda: states(worker, "s") == [State.STOPPED])
    assert worker.offsets("s") == [({"filename": str(lines)}, {"position": 8})]
    worker.alter_offsets("s", [({"filename": str(lines)}, {"position": 4})])
    assert worker.offsets("s") == [({"filename": str(lines)}, {"position": 4})]
    worker.aim("s", TargetState.STARTED)
    assert values(bootstrap, topic, 3) == [b"one", b"two", b"two"]
    until("it runs from there", lambda: runs(worker, "s"))
    worker.delete("s")
    with pytest.raises(NotFoundException):
        worker.info("s")
    assert worker.connectors() == []


def test_settings_may_refer_to_secrets_and_tasks_follow_them(
    node: Start, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """The topic keeps the reference; what was changed takes effect at once."""
    lines, others = tmp_path / "lines", tmp_path / "others"
    lines.write_text("one\n")
    others.write_text("two\n")
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"file={lines}\n")
    worker = node(
        config_providers="file",
        config_providers_file_class="org.apache.kafka.common.config.provider.FileConfigProvider",
    ).worker
    refers = source(lines, topic) | {"file": f"${{file:{secrets}:file}}"}
    worker.create("s", refers, None)
    assert values(bootstrap, topic, 1) == [b"one"]
    (settings,) = worker.task_configs("s").values()
    assert settings["file"] == refers["file"]
    info, is_new = worker.configure("s", {**info_of(worker, "s"), "file": str(others)})
    assert not is_new
    assert info.config["file"] == str(others)
    assert values(bootstrap, topic, 2) == [b"one", b"two"]
    assert worker.patch("s", {"batch.size": "7"}).config["batch.size"] == "7"
    (settings,) = worker.task_configs("s").values()
    assert settings["batch.size"] == "7"


def info_of(worker: Distributed, name: str) -> dict[str, str]:
    return dict(worker.info(name).config)


def test_a_source_has_a_topic_of_its_own_for_offsets(
    node: Start, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """It begins with what the cluster's topic has, and goes on in its own."""
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    worker = node().worker
    own = f"{topic}-own"
    worker.create("s", source(lines, topic, **{"offsets.storage.topic": own}), None)
    assert values(bootstrap, topic, 2) == [b"one", b"two"]
    kept = [({"filename": str(lines)}, {"position": 8})]
    until("it is kept", lambda: worker.offsets("s") == kept)
    assert values(bootstrap, own, 1) == [b'{"position":8}']
    worker.aim("s", TargetState.STOPPED)
    until("it stops", lambda: states(worker, "s") == [State.STOPPED])
    worker.reset_offsets("s")
    assert worker.offsets("s") == []


def test_a_sink_has_the_offsets_of_its_group(
    node: Start, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """They are shown, moved and forgotten while it is stopped."""
    write(bootstrap, topic, b"a", b"b", b"c")
    out = tmp_path / "out"
    worker = node().worker
    worker.create("k", sink(out, topic), None)
    until("the lines come", lambda: out.exists() and out.read_text() == "a\nb\nc\n")
    worker.aim("k", TargetState.STOPPED)
    until("it stops", lambda: states(worker, "k") == [State.STOPPED])
    place = {"kafka_topic": topic, "kafka_partition": 0}
    assert worker.offsets("k") == [(place, {"kafka_offset": 3})]
    worker.alter_offsets("k", [(place, {"kafka_offset": 2})])
    worker.aim("k", TargetState.STARTED)
    until("the last line comes again", lambda: out.read_text() == "a\nb\nc\nc\n")
    worker.aim("k", TargetState.STOPPED)
    until("it stops", lambda: states(worker, "k") == [State.STOPPED])
    worker.reset_offsets("k")
    assert worker.offsets("k") == []


@pytest.mark.spec("slides:H06", "book2:C-05")
def test_workers_share_and_tell_who_is_to_be_asked(
    node: Start, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """Work is spread; a worker that leaves is replaced at once if no delay is set."""
    first, second = node(), node()
    for number in range(2):
        (tmp_path / str(number)).write_text(f"{number}\n")
        first.worker.create(f"s{number}", source(tmp_path / str(number), topic), None)
    until("both run", lambda: all(runs(second.worker, name) for name in ("s0", "s1")))
    owners = {second.worker.status(f"s{number}").status.worker_id for number in range(2)}
    assert len(owners) == 2, "each worker has one"

    with pytest.raises(NotTheLeader) as told:
        second.worker.delete("s0")
    assert told.value.url == first.url
    elsewhere = next(
        name for name in ("s0", "s1") if second.worker.status(name).status.worker_id in second.url
    )
    with pytest.raises(NotTheOwner) as owned:
        first.worker.restart_connector(elsewhere)
    assert owned.value.url == second.url

    # The owner divides its connector anew and has the leader write it, signed.
    second.worker.aim(elsewhere, TargetState.PAUSED)
    until("it pauses", lambda: states(second.worker, elsewhere) == [State.PAUSED] * 2)
    first.worker.configure(elsewhere, {**info_of(first.worker, elsewhere), "batch.size": "9"})
    second.worker.aim(elsewhere, TargetState.STARTED)
    task = TaskId(elsewhere, 0)
    until(
        "the leader writes it",
        lambda: first.worker.task_configs(elsewhere)[task].get("batch.size") == "9",
    )
    until("it runs", lambda: runs(first.worker, elsewhere))
    with pytest.raises(BadRequestException, match="missing required signature"):
        first.worker.put_task_configs(elsewhere, [], b"[]", None)
    with pytest.raises(ConnectRestException, match="invalid signature"):
        first.worker.put_task_configs(elsewhere, [], b"[]", Signature("HmacSHA256", b"x"))

    second.stop()
    mine = first.url.removeprefix("http://").rstrip("/")
    until(
        "the first has all",
        lambda: (
            runs(first.worker, elsewhere)
            and first.worker.status(elsewhere).status.worker_id == mine
        ),
    )


def test_damaged_topics_are_read_as_far_as_they_can_be(
    node: Start, bootstrap: str, group: str, topic: str, tmp_path: Path
) -> None:
    """What makes no sense is passed over; a decision that was cut short is made again."""
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    node().stop()
    for kind in ("config", "offset", "status"):
        for key in (b"connector-x", b'["s"', b"status-task-s-0", b"nobody", b"task-s-", None):
            write(bootstrap, f"{group}-{kind}", b"{damaged", b"[]", b"7", None, key=key)
    config = source(lines, topic) | {"name": "s", "tasks.max": "1"}
    for key, value in (
        records.connector_config("s", config),
        records.task_config(TaskId("s", 0), {**config, "file": "/nowhere"}),
        records.tasks_commit("s", 2),
    ):
        assert value is not None
        write(bootstrap, f"{group}-config", value, key=key)
    worker = node().worker
    until("it runs", lambda: runs(worker, "s"))
    assert values(bootstrap, topic, 1) == [b"one"]
    assert worker.connectors() == ["s"]


def is_of_one_round(worker: Distributed, name: str) -> bool:
    """Whether a connector and its tasks were started in one and the same round."""
    told = worker.status(name)
    return {each.generation for each in told.tasks.values()} == {told.status.generation}


def test_a_request_waits_for_the_end_of_a_rebalance(
    node: Start, topic: str, tmp_path: Path
) -> None:
    """Many at once, each of which begins a rebalance, are all answered."""
    worker = node().worker
    faults: list[BaseException] = []

    def create(number: int) -> None:
        try:
            worker.create(f"s{number}", source(tmp_path / str(number), topic), None)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    until("all run", lambda: all(runs(worker, f"s{number}") for number in range(5)))


def test_a_request_is_rejected_while_no_coordinator_answers(
    bootstrap: str, group: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is not in its group says so, as Connect does."""
    monkeypatch.setattr("headrace.pipelines.connect.worker.distributed._BALANCE_S", 0.1)
    alone = Node(bootstrap, group, {"group.id": ""})
    try:
        assert alone.worker.trouble() is not None
        with pytest.raises(RebalanceNeededException):
            alone.worker.restart_connector("s")
        with pytest.raises(NotTheLeader) as told:
            alone.worker.create("s", source(tmp_path / "x", topic), None)
        assert told.value.url is None
    finally:
        alone.stop()


def test_an_eager_group_works_too(node: Start, bootstrap: str, topic: str, tmp_path: Path) -> None:
    """Workers that stop everything before they join."""
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    first = node(connect_protocol="eager").worker
    first.create("s", source(lines, topic), None)
    until("it runs", lambda: runs(first, "s"))
    second = node(connect_protocol="eager").worker
    until("it runs again", lambda: first.status("s").status.generation > 2 and runs(second, "s"))
    assert values(bootstrap, topic, 1) == [b"one"]


@pytest.mark.parametrize("runtime", ["thread", "process"])
def test_a_source_writes_exactly_once(
    node: Start, bootstrap: str, topic: str, tmp_path: Path, runtime: str
) -> None:
    """Its offsets are in its transactions; tasks of earlier settings are fenced before new ones
    begin, and another worker goes on where the first one stopped."""
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    settings = {"exactly_once_source_support": "enabled", "headrace_runtime": runtime}
    first = node(**settings)
    config = source(lines, topic, **{"exactly.once.support": "required"})
    first.worker.create("s", config, None)
    assert values(bootstrap, topic, 2) == [b"one", b"two"]
    until("the offsets are committed", lambda: first.worker.offsets("s"))
    config["batch.size"] = "1"
    first.worker.configure("s", config)
    append(lines, "three\n")
    assert values(bootstrap, topic, 3) == [b"one", b"two", b"three"]
    first.stop()
    append(lines, "four\n")
    second = node(**settings)
    until("it runs elsewhere", lambda: runs(second.worker, "s"))
    assert values(bootstrap, topic, 4) == [b"one", b"two", b"three", b"four"]
    (known,) = second.worker.offsets("s")
    assert known == ({"filename": str(lines)}, {"position": lines.stat().st_size})


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
