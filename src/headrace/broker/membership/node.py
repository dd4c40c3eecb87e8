"""What a broker stands on when it starts: its directories, its id, and the cluster's tree.

With `zookeeper.connect` the tree is ZooKeeper's and names the cluster; directories of another
cluster are refused. Without it the tree is a file in the first directory, and nobody else's.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.broker.watching import logs
from headrace.cluster import store
from headrace.cluster.image import BrokerRegistration, Endpoint
from headrace.errors import ConfigError, HeadraceError
from headrace.log import meta_properties
from headrace.log.directory import LoadReport, LogDirectory
from headrace.log.moving import settle_moves
from headrace.types import uuid_to_text

if TYPE_CHECKING:
    from uuid import UUID

    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.listener import Listener
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.coordination.tree import Tree
    from headrace.runtime.clock import Clock
    from headrace.runtime.disk import Disk


@dataclass(frozen=True, slots=True)
class LocalNode:
    """The directories are locked and known to be ours; `open_tree` opens a further session."""

    broker_id: int
    directories: list[LogDirectory]
    tree: Tree
    open_tree: Callable[[], Tree]


def open_node(config: BrokerConfig, machine: Machine) -> LocalNode:
    """Take possession of everything; blocks until ZooKeeper answers."""
    disk = machine.open_disk()
    paths = [os.path.abspath(path) for path in config.log_dirs]
    owners = [meta_properties.read(disk, path) for path in paths]
    known_cluster = next((owner.cluster_id for owner in owners if owner), None)
    open_tree = machine.tree_opener(config, disk, paths[0])
    tree = open_tree()
    try:
        # A tree that was lost must not be mistaken for this cluster's: it gets an id of its own.
        new_id = None if config.get("zookeeper.connect") else known_cluster
        cluster_id = store.initialize(
            tree, lambda: new_id or uuid_to_text(machine.new_id()).replace("-", "A")
        )
        broker_id = config.broker_id
        if broker_id < 0:
            known_id = next((owner.node_id for owner in owners if owner), None)
            broker_id = known_id if known_id is not None else _generated_id(config, tree)
        directories = _open_directories(disk, paths, cluster_id, broker_id, machine.new_id)
    except BaseException:
        tree.close()
        raise
    return LocalNode(broker_id, directories, tree, open_tree)


def _open_directories(
    disk: Disk, paths: list[str], cluster_id: str, broker_id: int, new_id: Callable[[], UUID]
) -> list[LogDirectory]:
    directories: list[LogDirectory] = []
    try:
        for path in paths:
            directory = LogDirectory.open(
                disk, path, cluster_id=cluster_id, node_id=broker_id, uuid_factory=new_id
            )
            directories += [directory]
        for done in settle_moves(disk, directories, new_id):
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


def registration(
    config: BrokerConfig, node: LocalNode, listeners: list[Listener], epoch: int
) -> BrokerRegistration:
    """This broker as others are told to reach it; port 0 has become a real one by now."""
    ports = {listener.name: listener.port for listener in listeners}
    endpoints = {
        told.name: Endpoint(
            told.host or socket.getfqdn(), told.port or ports[told.name], told.security_protocol
        )
        for told in config.advertised_listeners
    }
    return BrokerRegistration(
        node.broker_id,
        endpoints,
        config.get("broker.rack"),
        epoch,
        tuple(uuid_to_text(directory.directory_id) for directory in node.directories),
    )


async def load_logs(
    directories: list[LogDirectory], metadata: Metadata, clock: Clock, executor: Executor
) -> None:
    """Open every log, the directories in parallel; a crash before makes this a recovery."""
    loop = asyncio.get_running_loop()

    def load(directory: LogDirectory) -> LoadReport:
        return directory.load(metadata.settings.log_config, clock.now_ms())

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
