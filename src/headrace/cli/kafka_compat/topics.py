"""`kafka-topics`: create, list, describe, alter, delete, as Kafka 4.3 does and prints it.

Of the past it still takes `--zookeeper` (see `administering`), under which topics are reported as
created with quotes, as they were then, and `--broker-list` for `--bootstrap-server`.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.admin.client import PAGE, Admin
from headrace.admin.faults import Refused
from headrace.admin.settings import topic_settings
from headrace.admin.views import TopicView
from headrace.cli.kafka_compat.administering import (
    CONNECTING,
    Told,
    as_whole_number,
    brokers_in_zookeeper,
    complain,
    need,
    one_of,
)
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster, printed
from headrace.cli.kafka_compat.topic_report import Filter, report
from headrace.errors import Error
from headrace.types import ZERO_UUID, TopicPartition, uuid_from_text

_FILTERS: Final = {
    "--under-replicated-partitions": Filter.UNDER_REPLICATED,
    "--unavailable-partitions": Filter.UNAVAILABLE,
    "--under-min-isr-partitions": Filter.UNDER_MIN_ISR,
    "--at-min-isr-partitions": Filter.AT_MIN_ISR,
}
# Which actions a flag goes with; a flag that is not here goes with all.
_GOES_WITH: Final = {
    "--config": ("--create",),
    "--partitions": ("--create", "--alter"),
    "--replication-factor": ("--create",),
    "--replica-assignment": ("--create", "--alter"),
    **dict.fromkeys(_FILTERS, ("--describe",)),
    "--topics-with-overrides": ("--describe",),
    "--topic-id": ("--describe",),
    "--if-exists": ("--alter", "--delete", "--describe"),
    "--if-not-exists": ("--create",),
    "--exclude-internal": ("--list", "--describe"),
}
_COLLISIONS: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
    "could collide. To avoid issues it is best to use either, but not both."
)
_NO_VALUE: Final = (
    "requirement failed: Invalid topic config: all configs to be added must be in the format "
    '"key=val".'
)
_MAX_REPLICATION_FACTOR: Final = 32767


def _plan(given: Given) -> Work:
    action = _checked(given)
    servers = given.text("--bootstrap-server", "--broker-list")
    if servers is None:
        zookeeper = given.text("--zookeeper")
        if zookeeper is None:
            raise Told("--bootstrap-server must be specified")
        servers = brokers_in_zookeeper(zookeeper)
    return on_cluster(given, servers, _WORK[action])


def _checked(given: Given) -> str:
    """The action, once all flags go together."""
    action = one_of(given, *_WORK)
    if given.has("--delete-config"):
        complain("delete-config option is no longer supported: use kafka-configs")
    if action not in ("--list", "--describe"):
        need(given, "--topic")
    if action == "--alter":
        need(given, "--partitions")
    for flag, actions in _GOES_WITH.items():
        if given.has(flag) and action not in actions:
            raise Told(f'Option "[{flag[2:]}]" can\'t be used with option "[{action[2:]}]"')
    excluded = ("--partitions", "--replication-factor") if action == "--create" else ()
    for flag in excluded:
        if given.has("--replica-assignment") and given.has(flag):
            raise Told(f'Option "[replica-assignment]" can\'t be used with option "[{flag[2:]}]"')
    if given.has("--topics-with-overrides") and any(map(given.has, _FILTERS)):
        raise Told('Option "[topics-with-overrides]" can\'t be used with a filter of partitions')
    return action


# -- actions --------------------------------------------------------------------------------------


def _create(admin: Admin, given: Given) -> None:
    name = given.needed("--topic")
    partitions = as_whole_number(given, "--partitions")
    replicas = as_whole_number(given, "--replication-factor")
    assignment = parse_assignment(given.text("--replica-assignment"))
    if not all("=" in pair for pair in given.all("--config")):
        raise Told(_NO_VALUE)
    if "." in name or "_" in name:
        print(_COLLISIONS)
    if replicas is not None and not 1 <= replicas <= _MAX_REPLICATION_FACTOR:
        raise Told(
            f"The replication factor must be between 1 and {_MAX_REPLICATION_FACTOR} inclusive"
        )
    if partitions is not None and partitions < 1:
        raise Told("The partitions must be greater than 0")
    try:
        places = dict(enumerate(assignment))
        admin.create(name, partitions, replicas, places, given.properties("--config"))
    except Refused as error:
        if error.error is not Error.TOPIC_ALREADY_EXISTS or not given.has("--if-not-exists"):
            raise
        return
    print(f'Created topic "{name}".' if given.has("--zookeeper") else f"Created topic {name}.")


def _list(admin: Admin, given: Given) -> None:
    print("\n".join(topic.name for topic in _matching(admin, given)))


def _alter(admin: Admin, given: Given) -> None:
    topics = _required(admin, given)
    count = as_whole_number(given, "--partitions")
    assert count is not None
    assignment = parse_assignment(given.text("--replica-assignment"))
    for topic in topics:
        admin.grow({topic.name: count}, assignment[len(topic.partitions) :])


def _delete(admin: Admin, given: Given) -> None:
    topics = _required(admin, given)
    if topics:
        admin.delete([topic.name for topic in topics])


def _describe(admin: Admin, given: Given) -> None:
    names = [topic.name for topic in _required(admin, given)]
    page_size = as_whole_number(given, "--partition-size-limit-per-response") or PAGE
    topics = admin.describe(names, page_size=page_size)
    partitions = [
        TopicPartition(topic.name, each.number) for topic in topics for each in topic.partitions
    ]
    filters = {kind for flag, kind in _FILTERS.items() if given.has(flag)}
    lines = report(
        topics,
        topic_settings(admin, names),
        admin.reassignments(partitions) if partitions else {},
        admin.describe_cluster().ids,
        filters=filters,
        overridden_only=given.has("--topics-with-overrides"),
    )
    for line in lines:
        print(line)


_WORK: Final = {
    "--list": _list,
    "--describe": _describe,
    "--create": _create,
    "--alter": _alter,
    "--delete": _delete,
}


# -- which topics ---------------------------------------------------------------------------------


def _required(admin: Admin, given: Given) -> list[TopicView]:
    """The topics that were named; failing if none is found, unless `--if-exists`."""
    found = _matching(admin, given)
    wanted, kind = given.text("--topic"), "Topic"
    if given.has("--topic-id"):
        wanted, kind = given.text("--topic-id"), "TopicId"
    if wanted and not found and not given.has("--if-exists"):
        raise Told(f"{kind} '{wanted}' does not exist as expected")
    return found


def _matching(admin: Admin, given: Given) -> list[TopicView]:
    topics = [
        topic
        for topic in admin.topics()
        if not (topic.is_internal and given.has("--exclude-internal"))
    ]
    if topic_id := given.text("--topic-id"):
        try:
            wanted = uuid_from_text(topic_id)
        except ValueError as error:
            raise Told(str(error)) from None
        if wanted != ZERO_UUID:
            return [topic for topic in topics if topic.id == wanted]
    text = given.text("--topic")
    if text is None:
        return topics
    pattern = topic_pattern(text)
    return [topic for topic in topics if pattern.fullmatch(topic.name)]


def topic_pattern(text: str) -> re.Pattern[str]:
    """A regular expression, in which a comma separates alternatives, as all of Kafka's have it."""
    trimmed = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(trimmed)
    except re.error:
        raise Told(f"{trimmed} is an invalid regex.") from None


def parse_assignment(text: str | None) -> list[list[int]]:
    """`1:2,2:3` as the replicas of each partition; as many for all."""
    if not text:
        return []
    assignment = []
    for number, part in enumerate(text.split(",")):
        ids = [each.strip() for each in part.split(":")]
        if not all(each.isdecimal() for each in ids):
            raise Told(f'"{part}" in --replica-assignment is not a list of brokers such as 1:2')
        replicas = [int(each) for each in ids]
        twice = sorted({each for each in replicas if replicas.count(each) > 1})
        if twice:
            listed = ",".join(map(str, twice))
            raise Told(f"Partition replica lists may not contain duplicate entries: {listed}")
        assignment.append(replicas)
        if len(replicas) != len(assignment[0]):
            raise Told(f"Partition {number} has different replication factor: {replicas}")
    return assignment


run: Final = Tool(
    "kafka-topics",
    flags(
        CONNECTING,
        "--broker-list= --zookeeper=",
        *_WORK,
        "--topic= --topic-id= --partitions= --replication-factor= --replica-assignment= --config= "
        "--delete-config=",
        *_FILTERS,
        "--topics-with-overrides --if-exists --if-not-exists --exclude-internal "
        "--partition-size-limit-per-response=",
    ),
    "--bootstrap-server localhost:9092 --create --topic orders --partitions 3",
    _plan,
    failed=printed("Error while executing topic command : {}"),
)
