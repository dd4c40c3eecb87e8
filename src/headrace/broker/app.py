"""The composition root: builds a broker from its settings, runs it, and takes it down again.

Only here are concrete things made and wired. Starting takes the ports first, so that a taken port
is told before minutes of recovery; stopping answers what is in flight before it flushes.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import resource
import signal
import socket
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import uvloop

from headrace.broker import logs
from headrace.broker.adoption import adopt, finish_deletions
from headrace.broker.broker import Broker
from headrace.broker.cleaner import LogCleaner
from headrace.broker.dispatch import Dispatcher
from headrace.broker.groups import build_groups
from headrace.broker.handlers import HANDLERS
from headrace.broker.housekeeping import Housekeeping
from headrace.broker.markers import Markers
from headrace.broker.metadata import Metadata
from headrace.broker.moves import Moves
from headrace.broker.producer_ids import ProducerIds
from headrace.broker.reporter import Reporter
from headrace.broker.server import ConnectionLimits, Listener
from headrace.broker.sessions import FetchSessions
from headrace.broker.storage import Storage
from headrace.broker.transactions import build_transactions
from headrace.cluster import store
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import BrokerRegistration, Endpoint
from headrace.coordination.sqlite import SqliteTree
from headrace.coordination.tree import Tree
from headrace.errors import ConfigError, HeadraceError
from headrace.log import meta_properties
from headrace.log.directory import LoadReport, LogDirectory
from headrace.log.moving import settle_moves
from headrace.runtime.allocator import keep_large_blocks
from headrace.runtime.clock import SystemClock
from headrace.runtime.disk import Disk
from headrace.runtime.os_disk import OsDisk
from headrace.types import uuid_to_text

TREE_FILE: Final = "__coordination.sqlite"
_BLOCKING_THREADS: Final = 8
_DRAIN_TIMEOUT_S: Final = 10
_GC_YOUNG_OBJECTS: Final = 50_000
_KEPT_BYTES: Final = 16 << 20
_SESSION_EVICTION_MS: Final = 120_000  # as Kafka: a session idle for two minutes may be replaced
# Files that a broker needs besides segments: sockets, indexes, the tree, libraries.
_RESERVED_HANDLES: Final = 1024


@dataclass(slots=True)
class RunningBroker:
    """What must be taken down again, in the order of `stop`."""

    broker: Broker
    listeners: list[Listener]
    dispatcher: Dispatcher
    housekeeping: Housekeeping
    cleaner: LogCleaner
    tree: Tree
    executor: ThreadPoolExecutor

    async def stop(self) -> None:
        """Stop accepting, answer what is in flight, flush, mark the logs clean."""
        for listener in self.listeners:
            listener.stop_accepting()
        await self.housekeeping.stop()
        await self.cleaner.stop()
        await self.broker.moves.stop()
        self.broker.groups.stop()
        self.broker.transactions.stop()
        for partition in self.broker.storage.partitions.values():
            for waiter in tuple(partition.fetch_waiters):
                waiter.release()
        try:
            async with asyncio.timeout(_DRAIN_TIMEOUT_S):
                await self.dispatcher.drain()
                await self.broker.storage.drain()
                for listener in self.listeners:
                    await listener.drain()
        except TimeoutError:
            logs.SERVER.warning("Some clients did not take their answers in time")
        for listener in self.listeners:
            listener.close_all()
        loop = asyncio.get_running_loop()
        directories = self.broker.storage.directories
        await asyncio.gather(
            *(loop.run_in_executor(self.executor, directory.close) for directory in directories)
        )
        self.tree.close()
        self.executor.shutdown()
        logs.SERVER.info("Broker %d shut down", self.broker.id)


def run(config: BrokerConfig, *, announce: Callable[[str], None]) -> int:
    """Run a broker in the foreground until SIGTERM or Ctrl-C; returns the exit code."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        running = await start(config)
        # Everything built so far lives as long as the process: no need to look at it again.
        gc.collect()
        gc.freeze()
        keep_large_blocks(_KEPT_BYTES)
        # Requests leave no cycles behind; searching for some every 700 objects only costs time.
        gc.set_threshold(_GC_YOUNG_OBJECTS, 20, 50)
        for listener in running.listeners:
            announce(f"broker ready on {listener.host or '0.0.0.0'}:{listener.port}")
        await stop.wait()
        await running.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    return 0


async def start(config: BrokerConfig) -> RunningBroker:
    """Build and start a broker; it serves clients when this returns."""
    logs.CONFIG.info("%s", config.dump())
    for name in config.unknown_keys:
        logs.CONFIG.warning("Unknown setting %s is ignored", name)
    _check_listener_names(config)
    loop = asyncio.get_running_loop()
    reporter = Reporter()
    listeners = _bind(config, loop, reporter)
    disk = OsDisk(_handle_limit())
    executor = ThreadPoolExecutor(_BLOCKING_THREADS, thread_name_prefix="headrace")
    try:
        tree, broker_id, directories = _open(config, disk)
    except BaseException:
        for listener in listeners:
            listener.stop_accepting()
        raise
    clock = SystemClock()
    storage = Storage(directories, clock, loop, executor)
    store.register(tree, _registration(config, broker_id, listeners, tree), clock.now_ms())
    controller_epoch = store.elect_controller(tree, broker_id, clock.now_ms())
    image = store.load_image(tree)
    metadata = Metadata(
        broker_id, tree, image, config, storage, executor, controller_epoch=controller_epoch or 0
    )
    await _load_logs(directories, metadata, clock, executor)
    storage.check_single_homes()
    finish_deletions(tree, storage)
    await adopt(metadata, storage, broker_id)
    for topic in list(image.topics.values()):
        metadata.lead_topic(topic)
    producer_ids = ProducerIds(tree, broker_id, executor)
    markers = Markers(metadata, storage, clock)
    groups = build_groups(metadata, storage, clock)
    transactions = build_transactions(metadata, storage, clock, producer_ids, markers)
    markers.groups, markers.transactions = groups, transactions
    groups.lead()
    transactions.lead()
    draw = random.SystemRandom()
    broker = Broker(
        id=broker_id,
        clock=clock,
        loop=loop,
        reporter=reporter,
        storage=storage,
        metadata=metadata,
        moves=Moves(storage, metadata, clock, executor),
        fetch_sessions=FetchSessions(
            config.get_int("max.incremental.fetch.session.cache.slots"),
            _SESSION_EVICTION_MS,
            lambda: draw.randrange(1, 1 << 31),
        ),
        producer_ids=producer_ids,
        groups=groups,
        transactions=transactions,
        markers=markers,
        handlers=HANDLERS,
        max_fetch_bytes=config.get_int("fetch.max.bytes"),
    )
    dispatcher = Dispatcher(broker, HANDLERS, config.get_int("queued.max.requests"))
    housekeeping = Housekeeping(broker, listeners)
    housekeeping.start()
    cleaner = LogCleaner(storage, clock, lambda: metadata.config)
    cleaner.start()
    for listener in listeners:
        await listener.start(dispatcher)
    logs.SERVER.info("Broker %d started", broker_id)
    return RunningBroker(broker, listeners, dispatcher, housekeeping, cleaner, tree, executor)


def _bind(
    config: BrokerConfig, loop: asyncio.AbstractEventLoop, reporter: Reporter
) -> list[Listener]:
    limits = ConnectionLimits(
        config.get_int("max.connections"),
        config.get_int("max.connections.per.ip"),
        _per_ip_overrides(config),
    )
    listeners: list[Listener] = []
    for wanted in config.listeners:
        if wanted.security_protocol != "PLAINTEXT":
            raise ConfigError(
                f"listener {wanted.name} asks for {wanted.security_protocol}, but this version "
                "serves PLAINTEXT only; change `listeners` or `listener.security.protocol.map`"
            )
        listener = Listener(
            wanted.name,
            loop,
            limits,
            reporter,
            max_request_bytes=config.get_int("socket.request.max.bytes"),
            max_idle_ms=config.get_int("connections.max.idle.ms"),
        )
        listener.bind(wanted.host, wanted.port)
        listeners.append(listener)
    return listeners


def _check_listener_names(config: BrokerConfig) -> None:
    """Listeners for other brokers and the controller must exist, though nobody uses them yet."""
    logs.SERVER.info(
        "Brokers reach each other over %s, the controller over %s",
        config.inter_broker_listener,
        config.control_plane_listener or config.inter_broker_listener,
    )


def _per_ip_overrides(config: BrokerConfig) -> dict[str, int]:
    """`max.connections.per.ip.overrides`: `host:count` pairs, names resolved once at start."""
    overrides = {}
    for entry in (config.get("max.connections.per.ip.overrides") or "").split(","):
        if not entry.strip():
            continue
        host, _, count = entry.strip().rpartition(":")
        try:
            overrides[socket.gethostbyname(host)] = int(count)
        except (OSError, ValueError) as fault:
            raise ConfigError(
                f"Invalid value {entry} for configuration max.connections.per.ip.overrides: "
                f"allowed is host:count ({fault})"
            ) from None
    return overrides


def _handle_limit() -> int:
    """Open as many files as the system allows, and leave room for sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    if soft == resource.RLIM_INFINITY:
        soft = 1 << 20
    return int(max(64, min(soft - _RESERVED_HANDLES, soft // 2)))


def _open(config: BrokerConfig, disk: Disk) -> tuple[Tree, int, list[LogDirectory]]:
    """The tree, this broker's id, and its directories, locked and known to be ours."""
    paths = [os.path.abspath(path) for path in config.log_dirs]
    owners = [meta_properties.read(disk, path) for path in paths]
    disk.make_folder(paths[0])
    tree = SqliteTree(f"{paths[0]}/{TREE_FILE}")
    try:
        known_cluster = next((owner.cluster_id for owner in owners if owner), None)
        cluster_id = store.initialize(
            tree, lambda: known_cluster or uuid_to_text(uuid.uuid4()).replace("-", "A")
        )
        broker_id = config.broker_id
        if broker_id < 0:
            known_id = next((owner.node_id for owner in owners if owner), None)
            broker_id = known_id if known_id is not None else _generated_id(config, tree)
        directories = _open_directories(disk, paths, cluster_id, broker_id)
    except BaseException:
        tree.close()
        raise
    return tree, broker_id, directories


def _open_directories(
    disk: Disk, paths: list[str], cluster_id: str, broker_id: int
) -> list[LogDirectory]:
    directories: list[LogDirectory] = []
    try:
        for path in paths:
            directory = LogDirectory.open(
                disk, path, cluster_id=cluster_id, node_id=broker_id, uuid_factory=uuid.uuid4
            )
            directories += [directory]
        for done in settle_moves(disk, directories, uuid.uuid4):
            logs.LOG_MANAGER.warning("%s", done)
    except (HeadraceError, OSError):
        for directory in directories:
            directory.release()
        raise
    return directories


def _generated_id(config: BrokerConfig, tree: Tree) -> int:
    if not config.get_bool("broker.id.generation.enable"):
        raise ConfigError("node.id is not set and broker.id.generation.enable=false; set node.id")
    return store.next_broker_id(tree, config.get_int("reserved.broker.max.id"))


def _registration(
    config: BrokerConfig, broker_id: int, listeners: list[Listener], tree: Tree
) -> BrokerRegistration:
    """This broker as clients are told to reach it; port 0 has become a real one by now."""
    ports = {listener.name: listener.port for listener in listeners}
    endpoints = {
        told.name: Endpoint(
            told.host or socket.getfqdn(), told.port or ports[told.name], told.security_protocol
        )
        for told in config.advertised_listeners
    }
    rack = config.get("broker.rack")
    return BrokerRegistration(broker_id, endpoints, rack, store.next_broker_epoch(tree))


async def _load_logs(
    directories: list[LogDirectory],
    metadata: Metadata,
    clock: SystemClock,
    executor: ThreadPoolExecutor,
) -> None:
    """Open every log, the directories in parallel; a crash before makes this a recovery."""
    loop = asyncio.get_running_loop()

    def load(directory: LogDirectory) -> LoadReport:
        return directory.load(metadata.log_config, clock.now_ms())

    reports = await asyncio.gather(
        *(loop.run_in_executor(executor, load, directory) for directory in directories)
    )
    for directory, report in zip(directories, reports, strict=True):
        logs.LOG_MANAGER.info(
            "Loaded %d logs from %s after %s shutdown",
            report.loaded,
            directory.path,
            "a clean" if report.was_clean else "an unclean",
        )
        for warning in report.warnings:
            logs.LOG_MANAGER.warning("%s", warning)
        for folder, reason in report.quarantined.items():
            logs.LOG_MANAGER.error("Folder %s is not served: %s", folder, reason)
