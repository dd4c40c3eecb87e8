"""Every setting that is declared to change while the broker runs is obeyed when it does."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headrace.broker.app import RunningBroker, start
from headrace.broker.os_machine import OsMachine
from headrace.broker.storage.replication_throttle import ReplicationThrottle
from headrace.broker.transactions.admission import must_ask
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_changes import AlterOp, ConfigOp, incremental_alter_broker
from headrace.cluster.config_keys import BROKER_KEYS
from headrace.cluster.image import ClusterImage, ConfigChanged, TopicCreated
from headrace.cluster.topics import NewTopic, TopicDefaults, create_topic
from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.clients.raw import Connection, ConnectionClosed

PATIENCE_S = 20
Look = Callable[[RunningBroker], Any]


class Observed(NamedTuple):
    """A new value of a setting, and what of the running broker must become what."""

    value: str
    look: Look
    becomes: Any


def of_logs(field: str, value: int | float | str | bool | tuple[str, ...]) -> Observed:
    """The settings that the log of a partition reads at each append and each look at its age."""
    text = ",".join(value) if isinstance(value, tuple) else str(value).lower()
    text = str(value) if isinstance(value, str) else text
    return Observed(text, lambda running: getattr(log_config(running), field), value)


def log_config(running: RunningBroker) -> Any:
    return running.broker.storage.partitions["observed", 0].log.config


def of_cleaner(field: str, value: float) -> Observed:
    return Observed(str(value), lambda running: getattr(running.cleaner.memory, field), value)


def of_limits(field: str, text: str, value: Any) -> Observed:
    return Observed(text, lambda running: getattr(running.listeners[0].limits, field), value)


def of_groups(field: str, value: int) -> Observed:
    def look(running: RunningBroker) -> set[int]:
        return {getattr(host.shard.settings, field) for host in running.broker.groups.active()}

    return Observed(str(value), look, {value})


def of_throttle(side: Any) -> Observed:
    def look(running: RunningBroker) -> bool:
        broker = running.broker
        return ReplicationThrottle(side, broker.id, lambda: broker.metadata.image).is_set

    return Observed("1000", look, True)


def read_again(key: str, value: str, becomes: Any) -> Observed:
    """A setting that its user reads from the broker's configuration each time."""
    return Observed(value, lambda running: running.broker.config.get(key), becomes)


OBSERVED: dict[str, Observed] = {
    "compression.gzip.level": of_logs("compression_gzip_level", 2),
    "compression.lz4.level": of_logs("compression_lz4_level", 2),
    "compression.type": of_logs("compression_type", "lz4"),
    "compression.zstd.level": of_logs("compression_zstd_level", 2),
    "cordoned.log.dirs": Observed("*", lambda running: len(running.broker.storage.cordoned), 1),
    "follower.replication.throttled.rate": of_throttle("follower"),
    "group.consumer.assignment.interval.ms": of_groups(
        "group_consumer_assignment_interval_ms", 2000
    ),
    "group.share.assignment.interval.ms": of_groups("group_share_assignment_interval_ms", 2000),
    "leader.replication.throttled.rate": of_throttle("leader"),
    "log.cleaner.backoff.ms": read_again("log.cleaner.backoff.ms", "20000", 20_000),
    "log.cleaner.dedupe.buffer.size": of_cleaner("key_map_bytes", 1 << 24),
    "log.cleaner.delete.retention.ms": of_logs("delete_retention_ms", 5),
    "log.cleaner.io.buffer.load.factor": of_cleaner("key_map_load_factor", 0.5),
    "log.cleaner.io.buffer.size": of_cleaner("io_bytes", 1 << 16),
    "log.cleaner.io.max.bytes.per.second": read_again(
        "log.cleaner.io.max.bytes.per.second", "1000.0", 1000.0
    ),
    "log.cleaner.max.compaction.lag.ms": of_logs("max_compaction_lag_ms", 10_000),
    "log.cleaner.min.cleanable.ratio": of_logs("min_cleanable_dirty_ratio", 0.25),
    "log.cleaner.min.compaction.lag.ms": of_logs("min_compaction_lag_ms", 7),
    "log.cleaner.threads": Observed("2", lambda running: running.cleaner.threads, 2),
    "log.cleanup.policy": of_logs("cleanup_policy", ("compact", "delete")),
    "log.flush.interval.messages": of_logs("flush_messages", 9),
    "log.flush.interval.ms": of_logs("flush_ms", 9),
    "log.index.interval.bytes": of_logs("index_interval_bytes", 99),
    "log.index.size.max.bytes": of_logs("segment_index_bytes", 1 << 16),
    "log.message.timestamp.after.max.ms": of_logs("message_timestamp_after_max_ms", 8),
    "log.message.timestamp.before.max.ms": of_logs("message_timestamp_before_max_ms", 8),
    "log.message.timestamp.type": of_logs("message_timestamp_type", "LogAppendTime"),
    "log.preallocate": of_logs("preallocate", True),
    "log.retention.bytes": of_logs("retention_bytes", 1 << 30),
    "log.retention.ms": of_logs("retention_ms", 77_000),
    "log.roll.jitter.ms": of_logs("segment_jitter_ms", 4),
    "log.roll.ms": of_logs("segment_ms", 40_000),
    "log.segment.bytes": of_logs("segment_bytes", 1 << 22),
    "log.segment.delete.delay.ms": of_logs("file_delete_delay_ms", 3),
    "max.connection.creation.rate": Observed("9", lambda running: running.broker.gate.active, True),
    "max.connections": of_limits("max_connections", "77", 77),
    "max.connections.per.ip": of_limits("max_per_ip", "66", 66),
    "max.connections.per.ip.overrides": of_limits("overrides", "127.0.0.9:5", {"127.0.0.9": 5}),
    "message.max.bytes": of_logs("max_message_bytes", 2000),
    "min.insync.replicas": of_logs("min_insync_replicas", 2),
    "num.replica.fetchers": read_again("num.replica.fetchers", "2", 2),
    "producer.id.expiration.ms": of_logs("producer_id_expiration_ms", 900_000),
    "replica.alter.log.dirs.io.max.bytes.per.second": read_again(
        "replica.alter.log.dirs.io.max.bytes.per.second", "5000", 5000
    ),
    "transaction.partition.verification.enable": Observed(
        "false", lambda running: must_ask(running.broker.config, adds=False), False
    ),
    "unclean.leader.election.enable": of_logs("unclean_leader_election_enable", True),
}

NOT_USED_YET = ("sasl.", "ssl.", "log.local.retention.")
"""Kept and shown for what reads them next: listeners serve PLAINTEXT only, and there is no tiered
storage."""


def dynamic_keys() -> list[str]:
    return [
        key.name
        for key in BROKER_KEYS.values()
        if not key.read_only and not key.name.startswith(NOT_USED_YET)
    ]


def test_every_dynamic_key_is_observed() -> None:
    """Who declares a setting dynamic says here how one can see that it is."""
    assert set(OBSERVED) == set(dynamic_keys())


def changed(running: RunningBroker, op: ConfigOp) -> Callable[[ClusterImage], Any]:
    broker = running.broker
    is_own = BROKER_KEYS[op.name].mode.value == "per-broker"

    def decide(image: ClusterImage) -> list[ConfigChanged]:
        owner = broker.id if is_own else None
        return [incremental_alter_broker(image, owner, [op], broker.config)]

    return decide


async def await_value(look: Callable[[], Any], value: Any) -> None:
    """Some settings are looked up in a thread first."""
    async with asyncio.timeout(PATIENCE_S):
        while look() != value:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def walk(running: RunningBroker, names: list[str]) -> list[str]:
    """The keys whose change is not obeyed, or whose removal is not."""
    deaf = []
    for name in names:
        value, look, becomes = OBSERVED[name]
        before = look(running)
        assert before != becomes, f"{name} has the new value already"
        for op, wanted in (
            (ConfigOp(name, AlterOp.SET, value), becomes),
            (ConfigOp(name, AlterOp.DELETE, None), before),
        ):
            await running.broker.metadata.change(changed(running, op))
            try:
                await await_value(partial(look, running), wanted)
            except TimeoutError:
                deaf.append(f"{name}: {look(running)} and not {wanted}")
    return deaf


def test_a_change_of_any_dynamic_key_is_obeyed(tmp_path: Path) -> None:
    """Each is set and taken back on a running broker; what it decides follows both times."""

    async def story() -> list[str]:
        settings = {
            "broker.id": "0",
            "log.dirs": str(tmp_path),
            "listeners": "PLAINTEXT://127.0.0.1:0",
        }
        running = await start(BrokerConfig(settings | {"metrics.listener": ""}), OsMachine())
        try:
            await running.broker.metadata.change(new_topic)
            await running.broker.groups.create_topic()
            await await_value(lambda: bool(list(running.broker.groups.active())), True)
            return await walk(running, dynamic_keys())
        finally:
            await running.stop()

    assert asyncio.run(story()) == []


def new_topic(image: ClusterImage) -> list[TopicCreated]:
    topic = NewTopic("observed", 1, 1)
    return [create_topic(image, topic, TopicDefaults(), chance=random, new_id=uuid.uuid4)]


def alter(connection: Connection, broker_id: str, name: str, value: str) -> int:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name=broker_id, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    return int(connection.ask(request, 1).responses[0].error_code)


def is_rejected(broker: Broker) -> bool:
    try:
        with Connection(broker.bootstrap_servers) as connection:
            connection.ask(ApiVersionsRequest(), 0)
            return False
    except (ConnectionClosed, OSError):
        return True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max.connections", "1"),
        ("max.connections.per.ip", "1"),
        ("max.connections.per.ip.overrides", "127.0.0.1:1"),
    ],
)
def test_limits_of_connections_change_while_clients_are_there(name: str, value: str) -> None:
    """A connection that is open stays, the next one is rejected with the setting in the log."""
    with Broker() as broker, Connection(broker.bootstrap_servers) as first:
        assert alter(first, "", name, value) == Error.NONE
        deadline = time.monotonic() + PATIENCE_S
        while not is_rejected(broker):  # the limit is looked up in a thread
            assert time.monotonic() < deadline, f"{name} is not obeyed"
        broker.await_output("max.connections")
        assert alter(first, "", name, "127.0.0.1:100" if ":" in value else "100") == Error.NONE
