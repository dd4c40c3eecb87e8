"""`headrace up --brokers N`: a cluster on one machine, with a ZooKeeper of its own.

    DIR/zookeeper         127.0.0.1:2181, or a free port if that is taken
    DIR/broker-0 …        the ports from --port on: 9092, 9093, 9094

ZooKeeper is started first and stopped last. What a replicated cluster wants and one broker does not
is set here, below whatever the user says: up to three replicas for every topic that is created
without a number of its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import Failure
from headrace.cli.services import Service
from headrace.cli.up import (
    BROKER,
    Request,
    check_folders,
    check_port,
    default_data,
    listener_of,
    pinned,
    read_config,
    run_broker,
    set_by_hand,
)

if TYPE_CHECKING:
    from headrace.cli.services import Addresses

ZOOKEEPER: Final = "zookeeper"
ZOOKEEPER_PORT: Final = 2181
REPLICAS: Final = 3
# What is chosen here, or has an option of its own.
_OF_ONE: Final = (
    "broker.id",
    "node.id",
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "log.dir",
)


def several(request: Request, count: int) -> list[Service]:
    """ZooKeeper, unless one is named, and the brokers, in the order of their start."""
    _check(request)
    _check_installed(count, own_zookeeper=request.zookeeper is None)
    data = Path(request.data or default_data(os.environ))
    if (data / "meta.properties").exists():
        raise Failure(
            f"{data} holds the data of a single broker, which no cluster can take over",
            "name another folder with --data",
        )
    check_folders([str(data)])
    services = []
    if request.zookeeper is None:
        services.append(_zookeeper(data / "zookeeper"))
    for index in range(count):
        settings = settings_of(request, count, index, data)
        _try(settings)
        check_port(request, settings["listeners"], index)
        services.append(_broker(request, f"{BROKER}-{index}", settings))
    return services


def settings_of(request: Request, count: int, index: int, data: Path) -> dict[str, str]:
    """The static settings of one broker; zookeeper.connect follows when it is known."""
    replicas, in_sync = min(REPLICAS, count), min(REPLICAS - 1, count)
    settings = {
        "default.replication.factor": str(replicas),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "group.initial.rebalance.delay.ms": "0",
        **read_config(request),
        **set_by_hand(request),
        "broker.id": str(index),
        "log.dirs": str(data / f"{BROKER}-{index}"),
        "listeners": listener_of(request, index),
    }
    if request.zookeeper is not None:
        settings["zookeeper.connect"] = request.zookeeper
    return settings


def _check(request: Request) -> None:
    given = {**read_config(request), **set_by_hand(request)}
    for key in _OF_ONE:
        if key in given:
            raise Failure(
                f"{key}={given[key]} is not for several brokers of one command",
                "leave it out, or run each broker with --only broker and a --config of its own",
            )


def _check_installed(count: int, *, own_zookeeper: bool) -> None:
    """Name all that is missing at once, before anything is started."""
    from importlib.util import find_spec

    from headrace.coordination.zookeeper import jars
    from headrace.errors import HeadraceError
    from headrace.java.installation import find_java

    missing = []
    if find_spec("kazoo") is None:
        missing.append('there is no package kazoo: pip install "headrace[cluster]"')
    for look in (find_java, jars.class_path) if own_zookeeper else ():
        try:
            look(os.environ)
        except HeadraceError as error:
            missing.append(str(error))
    if missing:
        found = " ".join(f"({number}) {text};" for number, text in enumerate(missing, 1))
        raise Failure(
            f"--brokers {count} needs more than is installed: {found} "
            "or run one broker, which needs none of it"
        )


def _try(settings: Mapping[str, str]) -> None:
    """A mistake in the settings is reported before anything is started."""
    from headrace.cluster.broker_config import BrokerConfig

    BrokerConfig(settings)


def _broker(request: Request, name: str, settings: Mapping[str, str]) -> Service:
    def run(known: Addresses) -> int:
        mine = pinned(settings, known.get(name))
        mine.setdefault("zookeeper.connect", known.get(ZOOKEEPER, ""))
        return run_broker(request, mine)

    needs = () if "zookeeper.connect" in settings else (ZOOKEEPER,)
    return Service(name, run, needs=needs, essential=True, says=BROKER)


# -- ZooKeeper ------------------------------------------------------------------------------------


def _zookeeper(folder: Path) -> Service:
    return Service(
        ZOOKEEPER, lambda known: _run_zookeeper(folder, known.get(ZOOKEEPER)), essential=True
    )


def _run_zookeeper(folder: Path, address: str | None) -> int:
    """In the child: a server until SIGTERM; one that is started again keeps its port."""
    from headrace.coordination.zookeeper.server import PortTaken, ZooKeeperServer

    port = int(address.rpartition(":")[2]) if address else ZOOKEEPER_PORT
    server = ZooKeeperServer(folder, client_port=port, ends_with_starter=True)
    try:
        server.start()
    except PortTaken:
        if address:
            raise
        server = ZooKeeperServer(folder, ends_with_starter=True)
        server.start()
    print(f"zookeeper ready on {server.connect_string} (data in {folder})", flush=True)
    # Blocked only now: the server itself was to inherit none of it.
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    while server.running:
        if signal.sigwait(signals) is not signal.SIGCHLD:
            server.stop()
            return 0
    raise Failure("ZooKeeper exited", f"see {server.log_path}")
