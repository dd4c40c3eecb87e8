"""A real cluster for tests: one ZooKeeper, and brokers that each are a process of their own.

    from headrace.testing import Cluster

    with Cluster(brokers=3) as cluster:
        Producer({"bootstrap.servers": cluster.bootstrap_servers})
        cluster.brokers[0].kill()

Ports are taken once and kept: a broker that comes back is where clients look for it. They lie below
the range that the kernel hands out to outgoing connections, since a client that knocks at a dead
broker's port could otherwise be given that very port and talk to itself.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final

from headrace.client.connection import Connection
from headrace.coordination.zookeeper.server import ZooKeeperServer, free_port
from headrace.errors import HeadraceError
from headrace.testing.broker import Broker, BrokerFailed
from headrace.wire.messages.metadata import MetadataRequest

HOST: Final = "127.0.0.1"
_ACQUAINTANCE_S: Final = 30.0
_PAUSE_S: Final = 0.02
SESSION_TIMEOUT_MS: Final = 2_000
"""How long a killed broker is believed alive. Short, because a test waits for it."""

Properties = Mapping[str, object]


class ClusterBroker(Broker):
    """A broker of a cluster; its data outlives `stop`, and goes when the cluster ends."""

    def __init__(self, broker_id: int, properties: Properties, *, data: Path, port: int) -> None:
        super().__init__({**properties, "broker.id": broker_id}, data=data, port=port)
        self.id = broker_id

    @property
    def log_dir(self) -> Path:
        """The folder with its replicas."""
        return self.data_dir


class Cluster:
    """Brokers on 127.0.0.1 with a ZooKeeper of their own, or with one that is given.

    `brokers` is how many, or which ids; `properties` are settings of all of them,
    `broker_properties` of one by its id, `racks` in the order of the brokers. Without `data`
    everything lives in a temporary folder that goes at the end.
    """

    def __init__(
        self,
        brokers: int | Sequence[int] = 3,
        properties: Properties | None = None,
        *,
        broker_properties: Mapping[int, Properties] | None = None,
        racks: Sequence[str] | None = None,
        data: str | os.PathLike[str] | None = None,
        zookeeper: str | None = None,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
    ) -> None:
        ids = list(range(brokers)) if isinstance(brokers, int) else list(brokers)
        self._keep_data = data is not None
        self._data = Path(data) if data is not None else None
        self._properties = {**_defaults(len(ids), session_timeout_ms), **(properties or {})}
        self._of_one = {each: dict((broker_properties or {}).get(each, {})) for each in ids}
        for broker_id, rack in zip(ids, racks or (), strict=False):
            self._of_one[broker_id].setdefault("broker.rack", rack)
        self._given_zookeeper = zookeeper
        self._session_timeout_ms = session_timeout_ms
        self.zookeeper_server: ZooKeeperServer | None = None
        self.brokers: list[ClusterBroker] = []

    # -- where it is ------------------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """All brokers, also those that are down."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    @property
    def zookeeper(self) -> str:
        """What the brokers have as zookeeper.connect."""
        if self._given_zookeeper is not None:
            return self._given_zookeeper
        if self.zookeeper_server is None:
            raise BrokerFailed("the cluster has no ZooKeeper before it is started")
        return self.zookeeper_server.connect_string

    @property
    def data_dir(self) -> Path:
        if self._data is None:
            raise BrokerFailed("the cluster has no folder before it is started")
        return self._data

    def broker(self, broker_id: int) -> ClusterBroker:
        """The broker with this id."""
        found = next((each for each in self.brokers if each.id == broker_id), None)
        if found is None:
            raise BrokerFailed(f"there is no broker {broker_id}; add_broker({broker_id}) makes one")
        return found

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> Cluster:
        """Start ZooKeeper and all brokers; returns when each answers, and knows the others."""
        if find_spec("kazoo") is None:
            raise BrokerFailed(
                'a cluster needs the package kazoo; install it with "pip install headrace[cluster]"'
            )
        if self._data is None:
            self._data = Path(tempfile.mkdtemp(prefix="headrace-cluster-"))
        try:
            self._start_zookeeper()
            if not self.brokers:
                self.brokers = [self._make(broker_id) for broker_id in self._of_one]
            _all_at_once(broker.start for broker in self.brokers)
            self._await_known_by_all()
        except BaseException:
            self.kill()
            self._remove_data()
            raise
        return self

    def _start_zookeeper(self) -> None:
        if self._given_zookeeper is not None:
            return
        if self.zookeeper_server is None:
            # ZooKeeper grants no session that is shorter than two of its ticks.
            tick_ms = max(self._session_timeout_ms // 4, 100)
            self.zookeeper_server = ZooKeeperServer(
                self.data_dir / "zookeeper",
                client_port=free_port(HOST),
                properties={"tickTime": str(tick_ms)},
                ends_with_starter=threading.current_thread() is threading.main_thread(),
            )
        self.zookeeper_server.start()

    def _make(self, broker_id: int) -> ClusterBroker:
        properties = {
            "zookeeper.connect": self.zookeeper,
            **self._properties,
            **self._of_one.get(broker_id, {}),
        }
        return ClusterBroker(
            broker_id, properties, data=self.data_dir / f"broker-{broker_id}", port=free_port(HOST)
        )

    def add_broker(
        self, broker_id: int | None = None, properties: Properties | None = None
    ) -> ClusterBroker:
        """Start one more broker, by default under the next id."""
        if broker_id is None:
            broker_id = max((broker.id for broker in self.brokers), default=-1) + 1
        if any(each.id == broker_id for each in self.brokers):
            raise BrokerFailed(f"there is a broker {broker_id} already")
        self._of_one[broker_id] = dict(properties or {})
        broker = self._make(broker_id)
        self.brokers.append(broker)
        broker.start()
        self._await_known_by_all()
        return broker

    def _await_known_by_all(self) -> None:
        """A broker answers before all others have heard of it, and they before it of them."""
        living = [broker for broker in self.brokers if broker.running]
        deadline = time.monotonic() + _ACQUAINTANCE_S
        for broker in living:
            while (known := _known_to(broker)) is not None and known < len(living):
                if time.monotonic() > deadline:
                    raise BrokerFailed(
                        f"broker {broker.id} knows {known} of {len(living)} brokers:\n"
                        f"{broker.output}"
                    )
                time.sleep(_PAUSE_S)

    def stop(self) -> None:
        """Stop all brokers cleanly, then ZooKeeper; temporary data is removed."""
        try:
            _all_at_once(broker.stop for broker in self.brokers if broker.running)
        finally:
            self.kill()
            self._remove_data()

    def kill(self) -> None:
        """End every process at once; the data stays."""
        for broker in self.brokers:
            broker.kill()
        if self.zookeeper_server is not None:
            self.zookeeper_server.kill()

    def _remove_data(self) -> None:
        if not self._keep_data and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None
            self.brokers = []
            self.zookeeper_server = None

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _known_to(broker: ClusterBroker) -> int | None:
    """How many brokers this one knows; None if it tells nobody who has not signed in."""
    try:
        with Connection(HOST, broker.port) as connection:
            return len(connection.call(MetadataRequest(topics=[])).brokers)
    except HeadraceError:
        return None


def _defaults(brokers: int, session_timeout_ms: int) -> dict[str, object]:
    """What a cluster for tests wants: few internal partitions, and news of a death soon."""
    return {
        "zookeeper.session.timeout.ms": session_timeout_ms,
        "offsets.topic.num.partitions": 5,
        "transaction.state.log.num.partitions": 5,
        "offsets.topic.replication.factor": min(3, brokers),
        "transaction.state.log.replication.factor": min(3, brokers),
        "transaction.state.log.min.isr": min(2, brokers),
        "group.initial.rebalance.delay.ms": 0,
    }


def _all_at_once(calls: Iterable[Callable[[], object]]) -> None:
    """Run them side by side; the first failure is raised when all have ended."""
    with ThreadPoolExecutor(max_workers=16) as pool:
        for future in [pool.submit(call) for call in calls]:
            future.result()
