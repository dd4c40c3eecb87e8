"""Steps for cases of administrative tools: limits, settings, queues and transactions left behind.

What these leave behind is none of `Stage`'s cleaning: each step takes back what it, or the command
after it, has set.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Producer, ShareConsumer

from headrace.admin.client import Admin, Changes
from headrace.admin.quotas import Entity, Named, change_quotas, read_quotas
from headrace.admin.records import offsets_at
from headrace.admin.settings import Resource, list_resources, read_settings
from headrace.admin.share_groups import (
    describe_share_group,
    list_share_groups,
    move_share_group,
)
from headrace.cli.asking import connect
from headrace.cli.target import parse_target
from headrace.client.offsets import EARLIEST
from headrace.types import TopicPartition
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.parity.case import Step
from tests.parity.stage import Stage, member

_TIMEOUT_S = 20.0
_POLLS = 200


def admin_of(stage: Stage) -> Admin:
    return connect(parse_target(stage.bootstrap, []))


def limits(entity: Entity, values: Mapping[str, float] | None = None) -> Step:
    """Limits of an entity; whatever it has is taken away when the case is over."""

    @contextlib.contextmanager
    def lasting(stage: Stage) -> Iterator[None]:
        with admin_of(stage) as admin:
            if values:
                change_quotas(admin, entity, values)
            yield
            wanted = {kind: Named(name) for kind, name in entity.items()}
            for _, left in read_quotas(admin, wanted):
                change_quotas(admin, entity, dict.fromkeys(left))

    return lambda stage: stage.keep(lasting(stage))


def settings(kind: Resource, name: str, values: Mapping[str, str] | None = None) -> Step:
    """Settings of a group or of client metrics; gone when the case is over."""

    @contextlib.contextmanager
    def lasting(stage: Stage) -> Iterator[None]:
        with admin_of(stage) as admin:
            if values:
                admin.alter_settings([Changes(kind, name, dict(values))])
            yield
            for each in list_resources(admin, kind):
                left = [setting.name for setting in read_settings(admin, kind, each)]
                admin.alter_settings([Changes(kind, each, dict.fromkeys(left))])

    return lambda stage: stage.keep(lasting(stage))


def queue(*groups: str, topic: str = "") -> Step:
    """Share groups at the beginning of a topic, without members."""

    def step(stage: Stage) -> None:
        with admin_of(stage) as admin:
            places = [
                TopicPartition(each.name, one.number)
                for each in admin.topics()
                if each.name == topic
                for one in each.partitions
            ]
            starts = {p: found.offset for p, found in offsets_at(admin, places, EARLIEST).items()}
            for group in groups:
                assert not move_share_group(admin, group, starts)

    return step


def worker(group: str, topic: str) -> Step:
    """A member of a share group that has been given its partitions."""

    def step(stage: Stage) -> None:
        consumer = ShareConsumer(
            {
                "bootstrap.servers": stage.bootstrap,
                "group.id": group,
                "client.id": "worker",
                "log_level": 0,
            }
        )
        stage.keep(contextlib.closing(consumer))
        consumer.subscribe([topic])
        with admin_of(stage) as admin:
            for _ in range(_POLLS):
                consumer.poll(timeout=0.05)
                listed = [each.group for each in list_share_groups(admin)]
                if group in listed and _is_assigned(admin, group):
                    return
        raise AssertionError(f"the member of {group} was given no partitions")

    return step


def _is_assigned(admin: Admin, group: str) -> bool:
    return any(member.assignment for member in describe_share_group(admin, group).members)


def static_member(group: str, topic: str, instance_id: str) -> Step:
    """A member that keeps its place when it goes, so it is shown the door afterwards."""

    @contextlib.contextmanager
    def removed(stage: Stage) -> Iterator[None]:
        yield
        leaving = [MemberIdentity(member_id="", group_instance_id=instance_id)]
        with admin_of(stage) as admin:
            admin.cluster.coordinator(group).call(
                LeaveGroupRequest(group_id=group, members=leaving)
            )

    def step(stage: Stage) -> None:
        stage.keep(removed(stage))
        member(group, topic, group_instance_id=instance_id)(stage)

    return step


def transaction(transactional_id: str, topic: str, *, is_open: bool = True) -> Step:
    """A record in a transaction: still open, or committed."""

    @contextlib.contextmanager
    def lasting(stage: Stage) -> Iterator[None]:
        conf: dict[str, Any] = {
            "bootstrap.servers": stage.bootstrap,
            "transactional.id": transactional_id,
            "log_level": 0,
        }
        producer = Producer(conf)
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, "in a transaction", partition=0)
        assert producer.flush(_TIMEOUT_S) == 0
        if not is_open:
            producer.commit_transaction(_TIMEOUT_S)
        yield
        if is_open:
            with contextlib.suppress(Exception):
                producer.abort_transaction(_TIMEOUT_S)

    return lambda stage: stage.keep(lasting(stage))
