"""Workers whose topics, brokers or earlier selves give them trouble: what goes on all the same."""

from __future__ import annotations

import json
import logging
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.admin.client import Admin, Changes
from headrace.admin.settings import Resource
from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, Fenced
from headrace.client.producing import RawProducer, RecordsPayload
from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import HeadraceError
from headrace.pipelines.connect.config.worker import distributed
from headrace.pipelines.connect.faults import ConnectRestException, NotFoundException
from headrace.pipelines.connect.group.protocol import TaskId, Work
from headrace.pipelines.connect.host.fencing import fence as fence_producers
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.records import State, Status, TargetState, Write
from headrace.pipelines.connect.worker.config_topic import ConfigTopic
from headrace.pipelines.connect.worker.distributed import Distributed
from headrace.pipelines.connect.worker.member import Member
from headrace.pipelines.connect.worker.reconfiguring import Reconfiguring
from headrace.pipelines.connect.worker.state_topics import ensure_topics
from headrace.pipelines.connect.worker.status_topic import StatusTopic
from headrace.pipelines.connect.worker.statuses import Statuses
from headrace.pipelines.connect.worker.topic_writer import TopicWriter
from headrace.pipelines.connect.worker.worker import Signature
from headrace.records.builder import encode_record
from headrace.records.compression import Codec
from headrace.runtime.clock import SystemClock
from tests.pipelines.connect.worker.clustering import (
    Node,
    runs,
    source,
    states,
    until,
    worker_settings,
)
from tests.pipelines.connect.worker.running import values
from tests.registry.certificates import make_pem

pytestmark = pytest.mark.timeout(300)
Start = Callable[..., Node]
EXACTLY_ONCE = {"exactly_once_source_support": "enabled"}


@pytest.fixture
def client(bootstrap: str) -> ClientSettings:
    """How to reach the broker."""
    settings, _ = client_settings({"bootstrap.servers": bootstrap})
    return settings


@pytest.fixture
def limit(client: ClientSettings, group: str) -> Callable[[int], None]:
    """Limits the bytes of a batch in the group's config topic."""

    def change(most: int) -> None:
        with Admin(client) as admin:
            admin.alter_settings(
                [Changes(Resource.TOPIC, f"{group}-config", {"max.message.bytes": str(most)})]
            )

    return change


@pytest.fixture
def others(client: ClientSettings, group: str) -> Iterator[Callable[..., TopicWriter]]:
    """Writers of the config topic beside the workers."""
    made: list[TopicWriter] = []

    def make(transactional_id: str | None = None) -> TopicWriter:
        made.append(TopicWriter(client, f"{group}-config", SystemClock(), transactional_id))
        return made[-1]

    yield make
    for each in made:
        each.close()


def is_led(worker: Distributed) -> None:
    """Return when a worker has done all that a leader does after a rebalance."""
    with pytest.raises(NotFoundException):
        worker.delete("nobody")


# -- statuses -------------------------------------------------------------------------------------


def test_a_status_that_is_too_large_holds_up_no_other(
    client: ClientSettings, bootstrap: str, topic: str
) -> None:
    """One that brokers refuse is passed over; a trace is cut before it comes to that."""
    ensure_topics(client, distributed(worker_settings(bootstrap, topic)))
    status = StatusTopic(client, f"{topic}-status", SystemClock())
    status.open()
    with closing_after(status):
        long = "x" * (2 << 20)
        status.tell_task(TaskId("a", 0), Status(State.FAILED, "w", 1, long))
        status.tell_task(TaskId("b", 0), Status(State.RUNNING, "w", 1))
        until("the other is told", lambda: status.task(TaskId("b", 0)), 20)
        assert status.task(TaskId("a", 0)) is None
        statuses = Statuses(status, "w", SystemClock(), notes_topics=False)
        statuses.task(TaskId("a", 0), State.FAILED, None, "the beginning" + long + "the end")
        until("it is told in short", lambda: status.task(TaskId("a", 0)), 20)
        told = status.task(TaskId("a", 0))
        assert told is not None
        assert told.trace is not None
        assert told.trace.startswith("the beginning")
        assert told.trace.endswith("the end")


def closing_after(status: StatusTopic) -> closing[Closing]:
    return closing(Closing(status))


class Closing:
    def __init__(self, status: StatusTopic) -> None:
        self._status = status

    def close(self) -> None:
        self._status.close(1)


# -- settings -------------------------------------------------------------------------------------


def test_a_level_that_is_none_does_not_hide_what_follows(
    node: Start, others: Callable[..., TopicWriter], topic: str, tmp_path: Path
) -> None:
    """Both come at once."""
    worker = node().worker
    (tmp_path / "lines").touch()
    worker.create("s", source(tmp_path / "lines", topic), None)
    until("it runs", lambda: runs(worker, "s"))
    others().write(
        [(b"logger-cluster-x", b'{"level":"LOUD"}'), records.target_state("s", TargetState.PAUSED)]
    )
    until("it pauses", lambda: states(worker, "s") == [State.PAUSED] * 2, 20)


def test_a_task_that_cannot_be_placed_holds_up_no_other(
    node: Start, others: Callable[..., TopicWriter], topic: str, bootstrap: str, tmp_path: Path
) -> None:
    """Workers that do not know a setting write whatever it says."""
    (tmp_path / "lines").write_text("one\n")
    worker = node().worker
    writes: list[Write] = []
    for name, isolation in (("a", "sideways"), ("b", "shared")):
        config = source(tmp_path / "lines", topic, name=name, **{"headrace.isolation": isolation})
        writes += [
            records.connector_config(name, config),
            *records.task_configs(name, [config]),
        ]
    others().write(writes)
    assert values(bootstrap, topic, 1) == [b"one"]
    until("it is seen", lambda: worker.task_status(TaskId("a", 0)).state is State.FAILED, 20)
    assert "headrace.isolation" in str(worker.task_status(TaskId("a", 0)).trace)


# -- the leader -----------------------------------------------------------------------------------


def test_a_leader_that_cannot_write_yet_serves_and_writes_later(
    node: Start, client: ClientSettings, group: str, limit: Callable[[int], None]
) -> None:
    """The topic takes no session key at first; requests are answered all the same."""
    with Admin(client) as admin:
        settings: dict[str, str | None] = {"cleanup.policy": "compact", "max.message.bytes": "70"}
        admin.create(f"{group}-config", 1, 1, {}, settings)
    worker = node().worker
    is_led(worker)
    limit(1 << 20)

    def answer() -> str:
        with pytest.raises(ConnectRestException) as told:
            worker.put_task_configs("s", [], b"[]", Signature("HmacSHA256", b"x"))
        return str(told.value)

    until("there is a key", lambda: "invalid signature" in answer(), 20)


def test_tasks_that_cannot_be_written_yet_are_written_later(
    node: Start,
    limit: Callable[[int], None],
    topic: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever divides a connector and leads tries again, as whoever only divides does."""
    worker = node().worker
    (tmp_path / "lines").touch()
    worker.create("s", source(tmp_path / "lines", topic), TargetState.PAUSED)
    until("it pauses", lambda: states(worker, "s") == [State.PAUSED])
    caplog.set_level(logging.WARNING, Reconfiguring.__module__)
    limit(200)  # enough for the new target, and too little for a task
    worker.aim("s", TargetState.STARTED)
    until("its tasks are refused", lambda: "MESSAGE_TOO_LARGE" in caplog.text, 20)
    limit(1 << 20)
    until("it runs", lambda: runs(worker, "s"), 20)


def test_a_leader_shuts_out_the_one_before_at_once(
    node: Start, group: str, others: Callable[..., TopicWriter]
) -> None:
    """Before it writes anything itself."""
    first = node(**EXACTLY_ONCE)
    is_led(first.worker)
    before = others(f"connect-cluster-{group}")
    before.write([records.logger_level("x", "WARN")])
    first.stop()
    is_led(node(**EXACTLY_ONCE).worker)
    with pytest.raises(Fenced):
        before.write([records.logger_level("x", "INFO")])


def test_what_a_leader_could_not_write_hides_nothing(
    client: ClientSettings, bootstrap: str, topic: str
) -> None:
    """A transaction that fails is aborted, not left to its time-out."""
    settings = distributed(
        worker_settings(bootstrap, topic, **{"exactly.once.source.support": "enabled"})
    )
    ensure_topics(client, settings)
    config = ConfigTopic(client, settings, SystemClock(), lambda changes: None)
    config.open()
    with closing(config):
        config.claim()
        huge = records.connector_config("b", {"x": "x" * (2 << 20)})
        with pytest.raises(HeadraceError):
            config.lead([records.connector_config("a", {}), huge])
        config.write([records.connector_config("c", {})])
        until("it is read", lambda: config.snapshot().connectors.keys() == {"c"}, 20)
        assert config.lead([records.connector_config("d", {})]).connectors.keys() == {"c", "d"}


# -- tasks before ---------------------------------------------------------------------------------


def test_offsets_are_moved_when_old_tasks_are_shut_out(
    node: Start, client: ClientSettings, group: str, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """One that did not stop in time would otherwise commit its own over them."""
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    worker = node(**EXACTLY_ONCE).worker
    worker.create("s", source(lines, topic), None)
    assert values(bootstrap, topic, 1) == [b"one"]
    until("the offset is committed", lambda: worker.offsets("s"))
    worker.aim("s", TargetState.STOPPED)
    until("it stops", lambda: states(worker, "s") == [State.STOPPED])
    with closing(Cluster(client)) as cluster:
        zombie = RawProducer(cluster, transactional_id=f"{group}-s-0")
        zombie.begin()
        record = encode_record(0, 0, None, b"two")
        zombie.send(topic, 0, RecordsPayload(record, Codec.NONE, 1, 0, 0))
        zombie.flush()
        worker.reset_offsets("s")
        with pytest.raises((Fenced, BrokerRefused)):
            zombie.commit()
    assert worker.offsets("s") == []
    worker.aim("s", TargetState.STARTED)
    assert values(bootstrap, topic, 2) == [b"one", b"one"]


def test_as_many_tasks_count_as_fenced_as_may_begin(
    node: Start, others: Callable[..., TopicWriter], monkeypatch: pytest.MonkeyPatch, topic: str
) -> None:
    """Also when the connector is divided anew while old tasks are shut out."""
    worker = node(**EXACTLY_ONCE).worker
    is_led(worker)
    config = source(Path("lines"), topic, name="s")
    herder, writer = worker._herder, others()
    writer.write(
        [
            records.target_state("s", TargetState.STOPPED),
            records.connector_config("s", config),
            *records.task_configs("s", [config]),
        ]
    )
    herder.fence("s")
    assert herder.config.snapshot().fenced_counts == {"s": 1}
    writer.write(records.task_configs("s", [config] * 2))

    def meanwhile(client: ClientSettings, ids: list[str]) -> None:
        fence_producers(client, ids)
        writer.write(records.task_configs("s", [config] * 3))

    monkeypatch.setattr(f"{Reconfiguring.__module__}.fence_producers", meanwhile)
    herder.fence("s")
    assert herder.config.snapshot().fenced_counts == {"s": 3}
    assert not herder.config.snapshot().pending_fencing


# -- the group ------------------------------------------------------------------------------------


def test_a_worker_that_lost_its_session_says_what_it_runs(
    node: Start, monkeypatch: pytest.MonkeyPatch, topic: str, tmp_path: Path
) -> None:
    """The coordinator is back while the worker still stops what others have by now."""
    worker = node().worker
    (tmp_path / "lines").touch()
    worker.create("s", source(tmp_path / "lines", topic), None)
    until("it runs", lambda: runs(worker, "s"))
    herder, gate = worker._herder, threading.Event()
    before = generation_of(worker)
    herder.turns.submit(gate.wait)  # it takes a while to stop
    with monkeypatch.context() as patch:
        patch.setattr(Member, "is_out", True)
        herder._on_lost()
    herder.member.rejoin()
    until(
        "it joins, or waits for the end of its work",
        lambda: generation_of(worker) > before or not herder.member.settled.is_set(),
    )
    gate.set()
    until("it is back", lambda: generation_of(worker) > before and herder.is_balanced)
    until("it runs again", lambda: herder.owns(TaskId("s", 0)))
    again = generation_of(worker)
    herder.rebalance()
    until("it joins once more", lambda: generation_of(worker) > again and herder.is_balanced)
    assert herder.round is not None
    assert herder.round.assignment.given == Work(), "the leader knows that it runs"
    assert herder.owns(TaskId("s", 0))


def generation_of(worker: Distributed) -> int:
    made = worker._herder.member._round
    return -1 if made is None else made.generation


# -- workers among themselves ---------------------------------------------------------------------


def test_workers_that_trust_an_authority_of_their_own_call_each_other(
    node: Start, tmp_path: Path
) -> None:
    """Whoever does not lead asks the leader with the keys and authorities that it listens with."""
    pem = make_pem(tmp_path, "workers")
    settings = {
        "listeners": "https://127.0.0.1:0",
        "listeners_https_ssl_keystore_location": str(pem),
        "listeners_https_ssl_keystore_type": "PEM",
        "listeners_https_ssl_truststore_location": str(pem),
        "listeners_https_ssl_truststore_type": "PEM",
        "listeners_https_ssl_client_auth": "required",
    }
    first, second = node(**settings), node(**settings)
    is_led(first.worker)
    trust = ssl.create_default_context(cafile=str(pem))
    trust.load_cert_chain(pem)
    request = urllib.request.Request(f"{second.url}connectors/nobody", method="DELETE")
    with pytest.raises(urllib.error.HTTPError) as told:
        urllib.request.urlopen(request, timeout=60, context=trust)
    with closing(told.value):
        assert json.load(told.value) == {
            "error_code": 404,
            "message": "Connector nobody not found",
        }
