"""What becomes of calls and watches when the connection to ZooKeeper breaks or the session ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.coordination.tree import (
    Create,
    InvalidNode,
    Node,
    NodeChange,
    NodeEvent,
    NodeExists,
    OutcomeUnknown,
    SessionEvent,
    SessionLost,
    Set,
    Unreachable,
)
from headrace.coordination.zookeeper import connect
from headrace.coordination.zookeeper.addresses import parse_connect
from headrace.coordination.zookeeper.server import ZooKeeperServer, start_ensemble
from headrace.coordination.zookeeper.tree import MAX_REQUEST_BYTES, ZooKeeperTree
from headrace.errors import ConfigError
from tests.coordination.listening import Ear
from tests.coordination.wire_cutter import WireCutter
from tests.zookeeper import QUICK

SUSPENDED, CONNECTED, LOST = (
    SessionEvent.SUSPENDED,
    SessionEvent.CONNECTED,
    SessionEvent.LOST,
)


@pytest.fixture
def other(zookeeper_connect: str) -> Iterator[ZooKeeperTree]:
    """Somebody else, with a connection that nobody cuts."""
    with contextlib.closing(connect(zookeeper_connect)) as tree:
        yield tree


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A server that may be killed and paused, as long as it is up again afterwards."""
    with ZooKeeperServer(tmp_path_factory.mktemp("own"), properties=QUICK) as server:
        yield server


@pytest.fixture
def wire(zookeeper: ZooKeeperServer) -> Iterator[WireCutter]:
    with WireCutter(zookeeper.connect_string) as cutter:
        yield cutter


@pytest.fixture
def chroot(zookeeper_connect: str) -> str:
    return zookeeper_connect[zookeeper_connect.index("/") :]


def test_after_a_reconnect_everything_is_readable_and_heard(
    other: ZooKeeperTree, wire: WireCutter, chroot: str
) -> None:
    """What changed while the connection was cut is read on CONNECTED; later changes are heard."""
    with contextlib.closing(connect(wire.address + chroot)) as tree:
        ear = Ear()
        tree.watch("/", ear)
        tree.create("/mine", b"", ephemeral=True)
        session_id = tree.session_id
        wire.cut()
        ear.wait_for(SUSPENDED)
        other.create("/unheard", b"1")
        wire.heal()
        ear.wait_for(CONNECTED)
        assert tree.get("/unheard") == Node(b"1", 0)
        assert tree.session_id == session_id
        assert other.exists("/mine")
        other.set("/unheard", b"2")
        ear.wait_for(NodeEvent(NodeChange.CHANGED, "/unheard"))
        assert ear.of_session == [SUSPENDED, CONNECTED]
        first_heard = ear.events.index(NodeEvent(NodeChange.CHANGED, "/unheard"))
        assert ear.events.index(CONNECTED) < first_heard


def test_nobody_is_told_of_a_connection_before_the_watches_are_armed(
    other: ZooKeeperTree, wire: WireCutter, chroot: str
) -> None:
    """CONNECTED waits for the server's word, so that no change falls between the two."""
    with contextlib.closing(connect(wire.address + chroot)) as tree:
        ear = Ear()
        tree.watch("/", ear)
        wire.cut()
        ear.wait_for(SUSPENDED)
        wire.heal(hold_after_handshake=True)
        assert wire.holding.wait(20)
        other.create("/meanwhile", b"")
        assert CONNECTED not in ear.events
        wire.release()
        ear.wait_for(CONNECTED)
        assert tree.exists("/meanwhile")


def test_a_connection_without_an_answer_does_not_cost_the_session(
    wire: WireCutter, chroot: str
) -> None:
    """As a server that is starting leaves one: it is given up in time for another."""
    ear = Ear()
    with contextlib.closing(connect(wire.address + chroot, session_timeout_ms=3000)) as tree:
        tree.watch("/", ear)
        tree.create("/broker", b"", ephemeral=True)
        wire.cut()
        ear.wait_for(SUSPENDED)
        wire.ignore_one()
        assert wire.ignored.wait(10)
        ear.wait_until(lambda: ear.of_session[-1] is not SUSPENDED)
        assert ear.of_session == [SUSPENDED, CONNECTED]
        assert tree.get("/broker").ephemeral


def test_an_expired_session_is_lost_for_good(
    other: ZooKeeperTree, wire: WireCutter, chroot: str
) -> None:
    """Ephemeral nodes go, LOST is the last event, every call raises; no new session is made."""
    ear, others_ear = Ear(), Ear()
    with contextlib.closing(connect(wire.address + chroot, session_timeout_ms=2000)) as tree:
        tree.watch("/", ear)
        tree.create("/broker", b"", ephemeral=True)
        other.watch("/broker", others_ear)
        wire.cut()
        others_ear.wait_for(NodeEvent(NodeChange.DELETED, "/broker"))
        wire.heal()
        ear.wait_for(LOST)
        calls: list[Callable[[], object]] = [
            lambda: tree.get("/"),
            lambda: tree.create("/broker", b"", ephemeral=True),
            lambda: tree.multi([Set("/", b"")]),
            lambda: tree.subtree("/"),
            lambda: tree.watch("/", ear),
        ]
        for call in calls:
            with pytest.raises(SessionLost, match="open a new one"):
                call()
        assert ear.of_session == [SUSPENDED, LOST]
        assert ear.events[-1] is LOST
        assert tree._session._connection.connection_stopped.wait(20)
    with contextlib.closing(connect(wire.address + chroot)) as anew:
        anew.create("/broker", b"again", ephemeral=True)
        assert anew.session_id != tree.session_id


def test_a_write_without_an_answer_has_an_unknown_outcome(
    other: ZooKeeperTree, wire: WireCutter, chroot: str
) -> None:
    """OutcomeUnknown instead of a second try; the read that follows tells what happened."""
    other.create("/n", b"0")
    others_ear = Ear()
    other.watch("/n", others_ear)
    with (
        contextlib.closing(connect(wire.address + chroot)) as tree,
        ThreadPoolExecutor(1) as pool,
    ):
        wire.deafen()
        write = pool.submit(tree.set, "/n", b"1", 0)
        others_ear.wait_for(NodeEvent(NodeChange.CHANGED, "/n"))
        wire.cut()
        with pytest.raises(OutcomeUnknown, match="read again"):
            write.result(timeout=20)
        wire.heal()
        assert tree.get("/n") == Node(b"1", 1)
        assert tree.set("/n", b"2", 1) == 2


def test_reads_are_asked_again_on_the_next_connection(
    other: ZooKeeperTree, wire: WireCutter, chroot: str
) -> None:
    """A branch that is being read when the connection breaks is read to its end all the same."""
    names = [f"/{number:04}" for number in range(1500)]
    other.multi([Create(name, name.encode()) for name in names])
    with (
        contextlib.closing(connect(wire.address + chroot)) as tree,
        ThreadPoolExecutor(2) as pool,
    ):
        ear = Ear()
        tree.watch("/", ear)
        wire.deafen()
        branch, single = pool.submit(tree.subtree, "/"), pool.submit(tree.get, "/0001")
        other.create("/fence", b"")
        wire.cut()
        ear.wait_for(SUSPENDED)
        wire.heal()
        assert single.result(timeout=20).data == b"/0001"
        assert list(branch.result(timeout=20)) == ["/", *names, "/fence"]


def test_events_survive_a_restart_of_the_server(own_server: ZooKeeperServer) -> None:
    """kill -9 and a new start on the same folder: the session goes on, what is committed stays."""
    with contextlib.closing(connect(own_server.connect_string + "/a/chroot")) as tree:
        ear = Ear()
        tree.watch("/", ear)
        tree.create("/mine", b"", ephemeral=True)
        tree.multi([Create(f"/{number}", b"x") for number in range(100)])
        own_server.kill()
        ear.wait_for(SUSPENDED)
        own_server.start()
        ear.wait_for(CONNECTED)
        assert len(tree.subtree("/")) == 102
        assert tree.get("/mine").ephemeral
        tree.create("/after", b"")
        ear.wait_for(NodeEvent(NodeChange.CREATED, "/after"))


def test_a_silent_server_does_not_block_a_call_for_ever(own_server: ZooKeeperServer) -> None:
    """A stopped process answers nothing: reads end with Unreachable, close ends all the same."""
    tree = connect(own_server.connect_string, session_timeout_ms=1000)
    os.kill(own_server.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        with pytest.raises(Unreachable, match="is the ensemble up"):  # noqa: PT012
            for _ in range(10_000):  # the last of its threads may take a moment to stop
                tree.get("/")
        with pytest.raises((Unreachable, OutcomeUnknown)):
            tree.create("/a", b"")
        tree.close()
        assert time.monotonic() - started < 20
    finally:
        os.kill(own_server.pid, signal.SIGCONT)


@pytest.mark.spec("admin:RC-43", "book2:J-03")
def test_an_ensemble_serves_while_more_than_half_of_it_live(tmp_path: Path) -> None:
    """Of three servers one may die, even the leader, and the session lives on; of two, none."""
    servers = start_ensemble(tmp_path, 3, properties={**QUICK, "initLimit": "20"})
    try:
        hosts = ",".join(server.connect_string for server in servers)
        tree = connect(hosts, session_timeout_ms=4000)
        ear = Ear()
        tree.watch("/", ear)
        tree.create("/mine", b"", ephemeral=True)
        leader = next(server for server in servers if "Mode: leader" in server.probe())
        leader.kill()
        _eventually(lambda: tree.create("/after", b""))
        assert tree.get("/mine").ephemeral
        ear.wait_for(NodeEvent(NodeChange.CREATED, "/after"))
        assert LOST not in ear.of_session
        next(server for server in servers if server.running).kill()
        with pytest.raises((Unreachable, OutcomeUnknown)):
            tree.create("/never", b"")
        tree.close()
    finally:
        for server in servers:
            server.kill()


def test_only_one_of_two_gets_an_ephemeral_node(zookeeper_connect: str) -> None:
    """This is how a controller is elected: the other hears when the first one is gone."""
    with (
        contextlib.closing(connect(zookeeper_connect)) as one,
        contextlib.closing(connect(zookeeper_connect)) as two,
        ThreadPoolExecutor(2) as pool,
    ):
        trees = [one, two]
        for turn in range(20):
            start = threading.Barrier(2)

            def claim(tree: ZooKeeperTree, path: str, start: threading.Barrier) -> bool:
                start.wait(10)
                try:
                    tree.create(path, b"", ephemeral=True)
                except NodeExists:
                    return False
                return True

            won = list(pool.map(claim, trees, [f"/controller-{turn}"] * 2, [start] * 2))
            assert sorted(won) == [False, True]
        winner, loser = (one, two) if won[0] else (two, one)
        ear = Ear()
        loser.watch(f"/controller-{turn}", ear)
        closed_at = time.monotonic()
        winner.close()
        ear.wait_for(NodeEvent(NodeChange.DELETED, f"/controller-{turn}"))
        assert time.monotonic() - closed_at < 5
        loser.create(f"/controller-{turn}", b"", ephemeral=True)


def test_threads_may_share_a_session(other: ZooKeeperTree) -> None:
    """Calls from several threads do not disturb each other: versions count all writes."""
    other.create("/n", b"")

    def work(_: int) -> None:
        for _ in range(25):
            other.set("/n", b"x")
            assert other.get("/n").data == b"x"

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert other.get("/n").version == 100


def test_a_transaction_larger_than_a_request_is_refused(other: ZooKeeperTree) -> None:
    """The server would hang up on it, and nobody would know why; the connection stays."""
    piece = bytes(MAX_REQUEST_BYTES // 10)
    with pytest.raises(InvalidNode, match="change less in one transaction"):
        other.multi([Create(f"/{number}", piece) for number in range(10)])
    other.multi([Create(f"/{number}", piece) for number in range(9)])
    assert len(other.subtree("/")) == 10


def test_the_chroot_is_made_and_hides_what_is_outside(zookeeper_connect: str) -> None:
    """Two chroots are two trees; events and made paths have no chroot in them."""
    with (
        contextlib.closing(connect(zookeeper_connect + "/deep/one")) as one,
        contextlib.closing(connect(zookeeper_connect + "/deep/one/")) as same,
        contextlib.closing(connect(zookeeper_connect + "/deep/one2")) as two,
        contextlib.closing(connect(zookeeper_connect)) as outer,
    ):
        ear = Ear()
        one.watch("/", ear)
        assert one.create("/n-", b"", sequential=True) == "/n-0000000000"
        assert same.exists("/n-0000000000")
        two.create("/unheard", b"")
        one.create("/n", b"")
        ear.wait_for(NodeEvent(NodeChange.CREATED, "/n"))
        assert "/unheard" not in ear.paths
        assert two.children("/") == ["unheard"]
        assert outer.subtree("/deep/one").keys() == {
            "/deep/one",
            "/deep/one/n",
            "/deep/one/n-0000000000",
        }


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("localhost", "localhost:2181", ""),
        (" a:1 , b:2/kafka/", "a:1,b:2", "/kafka"),
        ("[::1]:2182,[::1]/x/y", "[::1]:2182,[::1]:2181", "/x/y"),
    ],
)
def test_connect_strings_are_kafkas(text: str, servers: str, chroot: str) -> None:
    """Servers with or without port, one chroot at the end of all."""
    assert parse_connect(text) == (servers, chroot)


@pytest.mark.parametrize(
    "text",
    ["", ",", "a:", "a:0", "a:x", "a:70000", "a:1,", "::1:2181", "a:1//x", "a:1/./x", "a b:1"],
)
def test_a_wrong_connect_string_is_named(text: str) -> None:
    """The error has the key, the value and how it is written."""
    with pytest.raises(ConfigError, match=r"zookeeper\.connect"):
        connect(text)


def test_nobody_at_the_address_is_a_clear_error() -> None:
    """Unreachable says how to get a ZooKeeper."""
    with pytest.raises(Unreachable, match="headrace zookeeper"):
        connect("127.0.0.1:1", connection_timeout_ms=300)


def test_kazoo_is_needed_only_to_connect() -> None:
    """Importing the room does not load it; without it the error says what to install."""
    program = """
import sys
import headrace.coordination.zookeeper.server
from headrace.coordination.zookeeper import connect
assert "kazoo" not in sys.modules
sys.modules["kazoo"] = None
try:
    connect("127.0.0.1:2181")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("ConfigError")
    assert "pip install headrace[cluster]" in done.stdout


def _eventually(call: Callable[[], object]) -> None:
    for _ in range(5):
        try:
            call()
        except NodeExists:
            return  # an earlier try had happened after all
        except (OutcomeUnknown, Unreachable):
            continue
        return
    raise AssertionError("the ensemble did not come back")
