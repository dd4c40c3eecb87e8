"""The composition root: builds a broker from its settings, runs it, and takes it down again.

Only here are concrete things made and wired. Starting takes the ports first, so that a taken port
is told before minutes of recovery; stopping hands leaderships over and answers what is in flight
before it flushes. What only a broker of a cluster has is in `Cluster`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import uvloop

from headrace.broker.broker import Broker
from headrace.broker.groups.groups import build_groups
from headrace.broker.handlers import bound
from headrace.broker.housekeeping import Housekeeping
from headrace.broker.machine import Machine
from headrace.broker.membership.adoption import adopt, finish_deletions
from headrace.broker.membership.connection_limits import follow_limits
from headrace.broker.membership.metadata import Metadata
from headrace.broker.membership.moves import Moves
from headrace.broker.membership.node import LocalNode, load_logs, open_node, registration
from headrace.broker.membership.session import TreeSession
from headrace.broker.net.connection_gate import ConnectionGate
from headrace.broker.net.dispatch import Dispatcher
from headrace.broker.net.large_requests import LargeRequests
from headrace.broker.net.listener import Listener
from headrace.broker.net.listening import bind_metrics
from headrace.broker.net.quotas import Quotas
from headrace.broker.net.reporter import Reporter
from headrace.broker.os_machine import OsMachine
from headrace.broker.sessions import FetchSessions
from headrace.broker.sharing.coordinators import build_shares
from headrace.broker.sharing.group_states import ShareGroupStates
from headrace.broker.sharing.partitions import SharePartitions
from headrace.broker.sharing.sessions import ShareSessions
from headrace.broker.sharing.states import ShareStates
from headrace.broker.storage.cleaner import LogCleaner
from headrace.broker.storage.storage import Storage
from headrace.broker.transactions.markers import Markers
from headrace.broker.transactions.producer_ids import ProducerIds
from headrace.broker.transactions.transactions import build_transactions
from headrace.broker.watching import logs
from headrace.cluster import store
from headrace.cluster.broker_config import BrokerConfig
from headrace.errors import HeadraceError
from headrace.runtime.allocator import keep_large_blocks

if TYPE_CHECKING:
    from headrace.broker.cluster_role import ClusterRole
    from headrace.broker.metrics.endpoint import MetricsEndpoint

HANDING_OVER: Final = 6  # Kafka's number for a broker that is about to stop
_BLOCKING_THREADS: Final = 8
_TREE_THREADS: Final = 2
_DRAIN_TIMEOUT_S: Final = 10
_GC_YOUNG_OBJECTS: Final = 10_000  # looking at them all takes 2 ms
_GIL_S: Final = 0.0005  # how long a thread that computes may keep the event loop waiting
_KEPT_BYTES: Final = 16 << 20
_SESSION_EVICTION_MS: Final = 120_000  # as Kafka: a session idle for two minutes may be replaced


class DisksFailed(HeadraceError):
    """Every log directory is offline."""


@dataclass(slots=True)
class RunningBroker:
    """What must be taken down again, in the order of `stop`."""

    broker: Broker
    listeners: list[Listener]
    dispatcher: Dispatcher
    housekeeping: Housekeeping
    cleaner: LogCleaner
    session: TreeSession
    role: ClusterRole | None
    executor: Executor
    tree_executor: Executor
    metrics_socket: socket.socket | None
    metrics: MetricsEndpoint | None = None

    async def serve_metrics(self) -> str:
        """Answer Prometheus from now on; returns where, or nothing if nobody wants it."""
        if self.metrics_socket is None:
            return ""
        # Loaded when clients are served already: nobody waits for it.
        from headrace.broker.metrics.endpoint import MetricsEndpoint, sources_of

        self.metrics = MetricsEndpoint(
            sources_of(self.broker, self.listeners, self.dispatcher, self.cleaner, self.role)
        )
        await self.metrics.start(self.metrics_socket)
        return self.metrics.url

    async def stop(self) -> None:
        """Hand over, stop accepting, answer what is in flight, flush, mark the logs clean."""
        if self.metrics is not None:
            self.metrics.sources.state = HANDING_OVER
        if self.role is not None:
            await self.role.hand_over()
        for listener in self.listeners:
            listener.stop_accepting()
        await self.housekeeping.stop()
        await self.cleaner.stop()
        await self.broker.moves.stop()
        self.broker.groups.stop()
        self.broker.transactions.stop()
        self.broker.share_partitions.stop()
        self.broker.share_states.coordinators.stop()
        for partition in self.broker.storage.partitions.values():
            for waiter in (*partition.fetch_waiters, *partition.replica_waiters):
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
        self.broker.inspections.close()  # nothing is appended to a log that is closed
        loop = asyncio.get_running_loop()
        directories = self.broker.storage.directories
        await asyncio.gather(
            *(loop.run_in_executor(self.executor, directory.close) for directory in directories)
        )
        if self.metrics is not None:
            await self.metrics.stop()
        if self.role is not None:
            await self.role.leave()
        else:
            await self.session.close()
        self.executor.shutdown()
        self.tree_executor.shutdown()
        logs.SERVER.info("Broker %d shut down", self.broker.id)


def run(
    config: BrokerConfig,
    *,
    announce: Callable[[str], None],
    metrics_socket: socket.socket | None = None,
) -> int:
    """Run a broker in the foreground until SIGTERM or Ctrl-C; returns the exit code.

    DisksFailed if it ends because no log directory is left.
    """

    if _has_log_settings(config):
        from headrace.broker.watching import log_files

        log_files.configure(config, os.environ)

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        reasons: list[str] = []

        def give_up(reason: str) -> None:
            reasons.append(reason)
            stop.set()

        running = await start(config, OsMachine(), metrics_socket)
        running.broker.storage.call_when_all_lost(give_up)
        # Everything built so far lives as long as the process: no need to look at it again.
        gc.collect()
        gc.freeze()
        keep_large_blocks(_KEPT_BYTES)
        # Requests leave no cycles behind; searching for some every 700 objects only costs time.
        gc.set_threshold(_GC_YOUNG_OBJECTS, 20, 50)
        sys.setswitchinterval(_GIL_S)
        for listener in running.listeners:
            announce(f"broker ready on {listener.host or '0.0.0.0'}:{listener.port}")
        if metrics_url := await running.serve_metrics():
            announce(f"metrics ready on {metrics_url}")
        await stop.wait()
        await running.stop()
        if reasons:
            raise DisksFailed(
                f"no log directory is left ({reasons[0]}); repair or replace the disk, or take it "
                "out of log.dirs, and start the broker again"
            )

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    return 0


def _has_log_settings(config: BrokerConfig) -> bool:
    keys = ("kafka.logs.dir", "log4j.configuration")
    return any(map(config.get, keys)) or not {"LOG_DIR", "KAFKA_LOG4J_OPTS"}.isdisjoint(os.environ)


async def start(
    config: BrokerConfig, machine: Machine, metrics_socket: socket.socket | None = None
) -> RunningBroker:
    """Build and start a broker on a machine; it serves clients when this returns.

    Metrics are served on a socket that is taken already, or on `metrics.listener`.
    """
    _log_settings(config)
    loop = asyncio.get_running_loop()
    clock = machine.clock
    reporter = Reporter()
    listeners = machine.listen(config, reporter)
    metrics_socket = metrics_socket or bind_metrics(config)
    if metrics_socket is not None:
        reporter.take_times()
    reporter.follow_request_log()
    executor = machine.threads(_BLOCKING_THREADS, "headrace")
    tree_executor = machine.threads(_TREE_THREADS, "headrace-tree")
    try:
        node = await loop.run_in_executor(tree_executor, open_node, config, machine)
    except BaseException:
        for listener in listeners:
            listener.stop_accepting()
        raise
    session = TreeSession(node.tree, tree_executor)
    storage = Storage(node.directories, clock, loop, executor, broker_id=node.broker_id)
    role = None
    if config.get("zookeeper.connect"):
        # One broker alone starts without any of this.
        from headrace.broker.cluster_role import ClusterRole

        metadata = await _cluster_metadata(config, node, session, storage, machine)
        role = ClusterRole(config, node, session, metadata, storage, machine, listeners)
        await load_logs(node.directories, metadata, clock, executor)
        storage.check_single_homes()
        await role.join()
    else:
        metadata = _own_metadata(config, node, session, storage, machine, listeners)
        await load_logs(node.directories, metadata, clock, executor)
        storage.check_single_homes()
        finish_deletions(node.tree, storage)
        await adopt(metadata, storage, node.broker_id, machine.new_id)
    await metadata.rotate_passwords()
    metadata.serve()
    broker = _build(config, session, storage, metadata, machine, reporter, role)
    follow_limits(listeners, metadata, broker.gate, executor)
    large = LargeRequests(broker.inspections, loop)
    dispatcher = Dispatcher(bound(broker), broker.quotas, reporter, large)
    housekeeping = Housekeeping(broker, listeners)
    housekeeping.start()
    cleaner = LogCleaner(storage, clock, lambda: metadata.settings.config)
    cleaner.start()
    if role is not None:
        role.start()
    for listener in listeners:
        await listener.start(dispatcher)
    logs.SERVER.info("Broker %d started", node.broker_id)
    return RunningBroker(
        broker,
        listeners,
        dispatcher,
        housekeeping,
        cleaner,
        session,
        role,
        executor,
        tree_executor,
        metrics_socket,
    )


def _log_settings(config: BrokerConfig) -> None:
    if logs.CONFIG.isEnabledFor(logging.INFO):
        logs.CONFIG.info("%s", config.dump())
    for name in config.unknown_keys:
        logs.CONFIG.warning("Unknown setting %s is ignored", name)


async def _cluster_metadata(
    config: BrokerConfig, node: LocalNode, session: TreeSession, storage: Storage, machine: Machine
) -> Metadata:
    image = await session.call(store.load_image)
    return Metadata(
        node.broker_id,
        session,
        image,
        config,
        storage,
        in_cluster=True,
        on_decision=machine.on_decision,
    )


def _own_metadata(
    config: BrokerConfig,
    node: LocalNode,
    session: TreeSession,
    storage: Storage,
    machine: Machine,
    listeners: list[Listener],
) -> Metadata:
    """The cluster of one: this broker is registered, and the controller, before it reads."""
    tree, now_ms = node.tree, machine.clock.now_ms()
    broker = registration(config, node, listeners, store.next_broker_epoch(tree, node.broker_id))
    store.register(tree, broker, now_ms)
    controllership = store.elect_controller(tree, node.broker_id, now_ms)
    image = store.load_image(tree)
    metadata = Metadata(
        node.broker_id,
        session,
        image,
        config,
        storage,
        in_cluster=False,
        on_decision=machine.on_decision,
    )
    metadata.controllership = controllership
    return metadata


def _build(
    config: BrokerConfig,
    session: TreeSession,
    storage: Storage,
    metadata: Metadata,
    machine: Machine,
    reporter: Reporter,
    role: ClusterRole | None,
) -> Broker:
    loop = asyncio.get_running_loop()
    clock = machine.clock
    producer_ids = ProducerIds(session, metadata.broker_id)
    markers = Markers(metadata, storage, clock, None if role is None else role.peers)
    shares = build_shares(metadata, storage, machine)
    share_states = ShareStates(metadata.broker_id, shares, None if role is None else role.peers)
    groups = build_groups(metadata, storage, machine, ShareGroupStates(share_states).change)
    transactions = build_transactions(metadata, storage, machine, producer_ids, markers)
    markers.groups, markers.transactions = groups, transactions
    groups.lead()
    transactions.lead()
    share_partitions = SharePartitions(metadata, storage, clock, share_states)
    shares.lead()
    quotas = Quotas(config, metadata.image, clock)
    gate = ConnectionGate(
        lambda: metadata.settings.config, metadata.image, quotas.limits, clock, loop
    )
    metadata.watchers += [quotas.on_changes, gate.on_changes]
    return Broker(
        id=metadata.broker_id,
        machine=machine,
        clock=clock,
        loop=loop,
        reporter=reporter,
        storage=storage,
        metadata=metadata,
        moves=Moves(storage, metadata, clock),
        fetch_sessions=FetchSessions(
            config.get_int("max.incremental.fetch.session.cache.slots"),
            _SESSION_EVICTION_MS,
            lambda: 1 + machine.chance.randrange((1 << 31) - 1),
        ),
        producer_ids=producer_ids,
        groups=groups,
        transactions=transactions,
        markers=markers,
        share_states=share_states,
        share_partitions=share_partitions,
        share_sessions=ShareSessions(
            config.get_int("group.share.max.share.sessions"), share_partitions.on_left
        ),
        quotas=quotas,
        gate=gate,
        peers=None if role is None else role.peers,
        isr=None if role is None else role.isr,
        throttle=None if role is None else role.throttle,
        remote_transactions=None if role is None else role.ask_others(transactions, markers),
        max_fetch_bytes=config.get_int("fetch.max.bytes"),
    )
