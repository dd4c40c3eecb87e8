"""The broker that both tools speak to, and how a case finds it: prepared, and clean again.

Steps are plain functions of a `Stage`; those that several tools need are made here. A step that
must live as long as the command runs (a member of a group, a transaction left open) is given to
`stage.keep`.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.admin.client import Changes
from headrace.admin.groups import delete_group
from headrace.admin.settings import Resource, list_resources, read_settings
from headrace.admin.share_groups import list_share_groups
from headrace.cli.asking import connect
from headrace.cli.target import parse_target
from headrace.client.connection import Connection
from headrace.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.messages.metadata import MetadataRequest
from tests.parity.case import Step

_T = TypeVar("_T")
_TIMEOUT_S = 20.0
_PAUSE_S = 0.02
_BROKER, _DELETE = 4, 1
_OF_THE_BROKER, _OF_ALL_BROKERS = 2, 3
_OWN_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class Stage:
    """One broker, or three, and the folder of the case that is being played."""

    def __init__(self, bootstrap: str, data: Path) -> None:
        self.bootstrap = bootstrap
        self.data = data
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.folder = Path()
        self._kept = contextlib.ExitStack()
        self._made: set[str] = set()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where each broker is."""
        pairs = (each.rpartition(":") for each in self.bootstrap.split(","))
        return [(host, int(port)) for host, _, port in pairs]

    @property
    def places(self) -> dict[str, object]:
        """What the words of a case may name."""
        host, port = self.addresses[0]
        places: dict[str, object] = {"bootstrap": self.bootstrap, "host": host, "port": port}
        return {**places, "folder": self.folder, "data": self.data}

    def keep(self, what: contextlib.AbstractContextManager[_T]) -> _T:
        """Enter now, leave when the case is over."""
        return self._kept.enter_context(what)

    @contextlib.contextmanager
    def prepared(self, steps: Sequence[Step]) -> Iterator[Stage]:
        """The stage after these steps; nothing of them is left behind."""
        self.folder = Path(tempfile.mkdtemp(prefix="parity-"))
        try:
            for step in steps:
                step(self)
            self._await_agreement(with_=self._made)
            yield self
        finally:
            self._kept.close()
            self._made.clear()
            shutil.rmtree(self.folder, ignore_errors=True)
            self._clean()

    def create(self, name: str, new: NewTopic) -> None:
        """Make a topic, even where a tool has just made one that nobody was told of in time."""
        for _ in range(2):
            made = self.admin.create_topics([new], operation_timeout=_TIMEOUT_S)[name]
            try:
                made.result(_TIMEOUT_S)
                self._made.add(name)
                return
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                _settle(self.admin.delete_topics([name], operation_timeout=_TIMEOUT_S))
        raise AssertionError(f"{name} is there and cannot be deleted")

    def _clean(self) -> None:
        topics = list(self.admin.list_topics(timeout=_TIMEOUT_S).topics)
        found = self.admin.list_consumer_groups(request_timeout=_TIMEOUT_S).result()
        groups = [group.group_id for group in found.valid]
        if groups:
            _settle(self.admin.delete_consumer_groups(groups))
        with connect(parse_target(self.bootstrap, [])) as admin:
            for each in list_share_groups(admin):
                delete_group(admin, each.group)
            for group in list_resources(admin, Resource.GROUP):
                own = [one.name for one in read_settings(admin, Resource.GROUP, group)]
                admin.alter_settings([Changes(Resource.GROUP, group, dict.fromkeys(own))])
        if doomed := [name for name in topics if name not in _OWN_TOPICS]:
            _settle(self.admin.delete_topics(doomed, operation_timeout=_TIMEOUT_S))
            self._await_agreement()
        self._forget_settings()

    def _await_agreement(self, with_: Collection[str] = ()) -> None:
        """Until all brokers tell the same topics, each with its leader and all its replicas."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not self._agree(with_):
            assert time.monotonic() < deadline, "the brokers do not come to agree"
            time.sleep(_PAUSE_S)

    def _agree(self, with_: Collection[str]) -> bool:
        told = []
        for host, port in self.addresses:
            with Connection(host, port, timeout_s=_TIMEOUT_S) as connection:
                topics = connection.call(MetadataRequest(topics=None)).topics
            if not {topic.name for topic in topics}.issuperset(with_):
                return False
            partitions = [(topic.topic_id, each) for topic in topics for each in topic.partitions]
            if any(len(each.isr_nodes) < len(each.replica_nodes) for _, each in partitions):
                return False
            told.append(
                {(topic, each.partition_index, each.leader_id) for topic, each in partitions}
            )
        return all(each == told[0] for each in told)

    def _forget_settings(self) -> None:
        """Settings that a case gave to brokers; those of topics go with the topics."""
        for host, port in self.addresses:
            with Connection(host, port, timeout_s=_TIMEOUT_S) as connection:
                nodes = connection.call(MetadataRequest(topics=[])).brokers
                here = next(
                    each.node_id for each in nodes if (each.host, each.port) == (host, port)
                )
                _forget(connection, str(here), _OF_THE_BROKER)
                _forget(connection, "", _OF_ALL_BROKERS)


def _forget(connection: Connection, broker: str, source: int) -> None:
    # librdkafka refuses the empty name, which stands for all brokers.
    asked = DescribeConfigsResource(
        resource_type=_BROKER, resource_name=broker, configuration_keys=None
    )
    (told,) = connection.call(DescribeConfigsRequest(resources=[asked])).results
    given = [each.name for each in told.configs if each.config_source == source]
    if given:
        changes = [AlterableConfig(name=key, config_operation=_DELETE, value=None) for key in given]
        change = AlterConfigsResource(resource_type=_BROKER, resource_name=broker, configs=changes)
        connection.call(IncrementalAlterConfigsRequest(resources=[change], validate_only=False))


def _settle(futures: Mapping[Any, Any]) -> None:
    """Wait for all; what a case has already removed is no failure."""
    for future in futures.values():
        with contextlib.suppress(KafkaException):
            future.result(_TIMEOUT_S)


# -- steps ----------------------------------------------------------------------------------------


def topic(
    name: str,
    partitions: int = 1,
    *,
    replicas: Sequence[Sequence[int]] | None = None,
    config: Mapping[str, str] | None = None,
) -> Step:
    """A topic; `replicas` says which brokers hold each partition."""

    def step(stage: Stage) -> None:
        if replicas is None:
            new = NewTopic(name, partitions, 1, config=dict(config or {}))
        else:
            placed = [list(each) for each in replicas]
            new = NewTopic(name, len(placed), replica_assignment=placed, config=dict(config or {}))
        stage.create(name, new)

    return step


def records(
    name: str,
    values: Sequence[str | tuple[str | None, str | None]],
    *,
    partition: int = 0,
    timestamp_ms: int = 1_700_000_000_000,
    headers: Sequence[tuple[str, bytes]] = (),
    **settings: str,
) -> Step:
    """Values, or pairs of key and value, written to one partition in this order."""

    def step(stage: Stage) -> None:
        properties = {key.replace("_", "."): value for key, value in settings.items()}
        # All in one batch, so that sizes are the same each time: the leader is known, and nothing
        # leaves before it is flushed.
        common = {"bootstrap.servers": stage.bootstrap, "log_level": 0, "linger.ms": "10000"}
        producer = Producer({**common, **properties})
        producer.list_topics(name, _TIMEOUT_S)
        for number, each in enumerate(values):
            key, value = (None, each) if isinstance(each, str) else each
            producer.produce(
                name,
                value,
                key,
                partition,
                timestamp=timestamp_ms + number,
                headers=list(headers) or None,
            )
        assert producer.flush(_TIMEOUT_S) == 0, f"{name} took no records"

    return step


def committed(group: str, offsets: Mapping[tuple[str, int], int]) -> Step:
    """A group without members that has committed these offsets."""

    def step(stage: Stage) -> None:
        places = [TopicPartition(*where, offset) for where, offset in offsets.items()]
        consumer = Consumer(
            {"bootstrap.servers": stage.bootstrap, "group.id": group, "log_level": 0}
        )
        try:
            consumer.commit(offsets=places, asynchronous=False)
        finally:
            consumer.close()

    return step


def transactional_id(name: str) -> Step:
    """An id that has been given to a producer."""

    def step(stage: Stage) -> None:
        settings = {"bootstrap.servers": stage.bootstrap, "log_level": 0}
        Producer({**settings, "transactional.id": name}).init_transactions(_TIMEOUT_S)

    return step


def member(
    group: str, *topics: str, client_id: str = "member", protocol: str = "classic", **settings: str
) -> Step:
    """A member that has been given its partitions and stays until the case is over."""

    def step(stage: Stage) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": stage.bootstrap,
                "log_level": 0,
                "group.id": group,
                "client.id": client_id,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
                **{key.replace("_", "."): value for key, value in settings.items()},
            }
        )
        given: list[Any] = []
        consumer.subscribe(list(topics), on_assign=lambda _, found: given.extend(found))
        stage.keep(contextlib.closing(consumer))
        for _ in range(200):
            consumer.poll(0.1)
            if given:
                return
        raise AssertionError(f"the member of {group} was given no partitions")

    return step


def file(name: str, text: str) -> Step:
    """A file in the folder of the case; the text may name places."""

    def step(stage: Stage) -> None:
        content = text
        for place, value in stage.places.items():
            content = content.replace(f"{{{place}}}", str(value))
        (stage.folder / name).write_text(content)

    return step
