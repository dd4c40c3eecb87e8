"""Settings of a topic, of a broker, and of all brokers together: show, set, reset, change several.

The three owners differ in their path and in one field of the resource; `_Owner` has the difference,
everything else is the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from headrace.admin.client import DELETE, SET, Admin, Alteration
from headrace.admin.settings import Resource as Kind
from headrace.admin.settings import SettingView, Source, read_several
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.config_requests import AlterConfigs, UpdateConfig, alteration_of
from headrace.rest.v3.resources import Links, Listing, Resource, enter

_DYNAMIC: Final = (Source.DYNAMIC_BROKER_CONFIG, Source.DYNAMIC_DEFAULT_BROKER_CONFIG)
_CLUSTER: Final = "/v3/clusters/{cluster_id}"
_TOPICS: Final = f"{_CLUSTER}/topics/{{topic_name}}/configs"
_BROKERS: Final = f"{_CLUSTER}/brokers/{{broker_id:int}}/configs"
_ALL_BROKERS: Final = f"{_CLUSTER}/broker-configs"
table: Final = v3_table(tag="Configs")


class Synonym(msgspec.Struct):
    """A level at which a setting has a value."""

    name: str
    value: str | None
    source: str


class KafkaConfig(Resource, kw_only=True):
    """A setting, whoever has it."""

    name: str
    value: str | None
    is_default: bool
    is_read_only: bool
    is_sensitive: bool
    source: str
    synonyms: list[Synonym]


class KafkaTopicConfig(KafkaConfig, kw_only=True):
    """A setting of a topic."""

    topic_name: str


class KafkaTopicConfigList(Listing[KafkaTopicConfig]):
    """Settings of topics."""


class KafkaBrokerConfig(KafkaConfig, kw_only=True):
    """A setting of a broker."""

    broker_id: int


class KafkaBrokerConfigList(Listing[KafkaBrokerConfig]):
    """Settings of brokers."""


class KafkaClusterConfig(KafkaConfig, kw_only=True):
    """A setting of all brokers together."""

    config_type: str


class KafkaClusterConfigList(Listing[KafkaClusterConfig]):
    """Settings of all brokers together."""


class Owner(NamedTuple):
    """Whose settings: the resource that a broker knows, and where it stands among ours."""

    shown: type[KafkaConfig]
    listed: type[Listing[Any]]
    kind: Kind
    name: str
    path: tuple[str | int, ...]
    crn: tuple[str, ...]
    field: dict[str, Any]

    @property
    def broker_id(self) -> int | None:
        """The broker that alone can answer, if there is one."""
        return int(self.name) if self.kind is Kind.BROKER and self.name else None


def of_topic(name: str) -> Owner:
    return Owner(
        KafkaTopicConfig,
        KafkaTopicConfigList,
        Kind.TOPIC,
        name,
        ("topics", name, "configs"),
        (f"topic={name}", "config"),
        {"topic_name": name},
    )


def of_broker(broker_id: int) -> Owner:
    return Owner(
        KafkaBrokerConfig,
        KafkaBrokerConfigList,
        Kind.BROKER,
        str(broker_id),
        ("brokers", broker_id, "configs"),
        (f"broker={broker_id}", "config"),
        {"broker_id": broker_id},
    )


def of_all_brokers() -> Owner:
    return Owner(
        KafkaClusterConfig,
        KafkaClusterConfigList,
        Kind.BROKER,
        "",
        ("broker-configs",),
        ("broker-config",),
        {"config_type": "BROKER"},
    )


def owner_of(call: Call) -> Owner:
    """The owner that the path of a request names."""
    parameters = call.request.path_params
    if "topic_name" in parameters:
        return of_topic(parameters["topic_name"])
    if "broker_id" in parameters:
        return of_broker(parameters["broker_id"])
    return of_all_brokers()


# -- showing --------------------------------------------------------------------------------------


@table.get(
    f"{_CLUSTER}/topics/-/configs", "List the settings of all topics", reply=KafkaTopicConfigList
)
async def list_configs_of_all_topics(call: Call) -> Listing[KafkaConfig]:
    calls, links = await enter(call)

    def describe(admin: Admin) -> tuple[list[Owner], list[list[SettingView]]]:
        owners = [of_topic(topic.name) for topic in admin.topics()]
        return owners, _describe(admin, owners)

    return _all(links, KafkaTopicConfigList, "topics", *await calls.ask(describe))


@table.get(
    f"{_CLUSTER}/brokers/-/configs",
    "List the dynamic settings of every broker",
    reply=KafkaBrokerConfigList,
)
async def list_configs_of_each_broker(call: Call) -> Listing[KafkaConfig]:
    """Only what was set at run time, as the name of this list promises: dynamic settings."""
    calls, links = await enter(call)

    def describe(admin: Admin) -> tuple[list[Owner], list[list[SettingView]]]:
        owners = [of_broker(broker.id) for broker in admin.describe_cluster().brokers]
        found = [_describe(admin, [owner])[0] for owner in owners]
        return owners, [[one for one in each if one.source in _DYNAMIC] for each in found]

    return _all(links, KafkaBrokerConfigList, "brokers", *await calls.ask(describe))


def _all(
    links: Links,
    listed: type[Listing[Any]],
    noun: str,
    owners: Sequence[Owner],
    found: Sequence[Sequence[SettingView]],
) -> Listing[KafkaConfig]:
    data = [
        _shown(links, owner, config)
        for owner, configs in zip(owners, found, strict=True)
        for config in configs
    ]
    return listed(links.listed(noun, "-", "configs"), data)


@table.get(_TOPICS, "List settings", reply=KafkaTopicConfigList)
@table.get(_BROKERS, "List settings", reply=KafkaBrokerConfigList)
@table.get(_ALL_BROKERS, "List settings", reply=KafkaClusterConfigList)
async def list_configs(call: Call) -> Listing[KafkaConfig]:
    calls, links = await enter(call)
    owner = owner_of(call)
    found = await calls.ask(lambda admin: _describe(admin, [owner]))
    data = [_shown(links, owner, config) for config in found[0]]
    return owner.listed(links.listed(*owner.path), data)


@table.get(f"{_TOPICS}/{{name}}", "Get a setting", reply=KafkaTopicConfig)
@table.get(f"{_BROKERS}/{{name}}", "Get a setting", reply=KafkaBrokerConfig)
@table.get(f"{_ALL_BROKERS}/{{name}}", "Get a setting", reply=KafkaClusterConfig)
async def get_config(call: Call) -> KafkaConfig:
    calls, links = await enter(call)
    owner, name = owner_of(call), call.path("name")
    found = await calls.ask(lambda admin: _describe(admin, [owner], [name]))
    return _shown(links, owner, _only(found[0], name))


def _describe(
    admin: Admin, owners: Sequence[Owner], names: list[str] | None = None
) -> list[list[SettingView]]:
    """The settings of each owner; all of them must be answered by the same broker, or by any."""
    if not owners:
        return []
    _check(admin, owners[0])
    found = read_several(admin, owners[0].kind, [owner.name for owner in owners], names)
    return [found.get(owner.name, []) for owner in owners]


def _check(admin: Admin, owner: Owner) -> None:
    if owner.broker_id is not None:
        find_broker(admin, owner.broker_id)


def _only(configs: Sequence[SettingView], name: str) -> SettingView:
    for config in configs:
        if config.name == name:
            return config
    raise faults.not_found(f"Config {name} cannot be found.")


def _shown(links: Links, owner: Owner, config: SettingView) -> KafkaConfig:
    *parents, last = owner.crn
    crn = (*parents, f"{last}={config.name}")
    return owner.shown(
        metadata=links.metadata(*owner.path, config.name, crn=crn),
        cluster_id=links.cluster_id,
        **owner.field,
        name=config.name,
        value=config.value,
        is_default=config.is_default,
        is_read_only=config.is_read_only,
        is_sensitive=config.is_sensitive,
        source=config.source.name,
        synonyms=[Synonym(each.name, each.value, each.source.name) for each in config.synonyms],
    )


# -- changing -------------------------------------------------------------------------------------


@table.put(f"{_TOPICS}/{{name}}", "Set a setting", body=UpdateConfig, status=204)
@table.put(f"{_BROKERS}/{{name}}", "Set a setting", body=UpdateConfig, status=204)
@table.put(f"{_ALL_BROKERS}/{{name}}", "Set a setting", body=UpdateConfig, status=204)
async def update_config(call: Call) -> None:
    calls, _ = await enter(call)
    owner, name = owner_of(call), call.path("name")
    change = Alteration(name, SET, call.body.value)
    await calls.ask(lambda admin: _alter_known(admin, owner, change))


@table.delete(f"{_TOPICS}/{{name}}", "Reset a setting to its default", status=204)
@table.delete(f"{_BROKERS}/{{name}}", "Reset a setting to its default", status=204)
@table.delete(f"{_ALL_BROKERS}/{{name}}", "Reset a setting to its default", status=204)
async def reset_config(call: Call) -> None:
    calls, _ = await enter(call)
    owner, name = owner_of(call), call.path("name")
    change = Alteration(name, DELETE, None)
    await calls.ask(lambda admin: _alter_known(admin, owner, change))


@table.post(
    f"{_CLUSTER}/topics/-/configs:alter",
    "Change settings of several topics",
    body=AlterConfigs,
    status=204,
)
async def alter_configs_of_topics(call: Call) -> None:
    calls, _ = await enter(call)
    asked: AlterConfigs = call.body
    by_topic: dict[str, list[Alteration]] = {}
    for one in asked.data:
        if one.topic_name is None:
            raise faults.bad_request(f"the change of {one.name} names no topic_name")
        by_topic.setdefault(one.topic_name, []).append(alteration_of(one))
    if by_topic:
        await calls.ask(
            lambda admin: admin.alter(Kind.TOPIC, by_topic, validate_only=asked.validate_only)
        )


@table.post(f"{_TOPICS}:alter", "Change settings", body=AlterConfigs, status=204)
@table.post(f"{_BROKERS}:alter", "Change settings", body=AlterConfigs, status=204)
@table.post(f"{_ALL_BROKERS}:alter", "Change settings", body=AlterConfigs, status=204)
async def alter_configs(call: Call) -> None:
    calls, _ = await enter(call)
    owner, asked = owner_of(call), call.body
    changes = {owner.name: [alteration_of(one) for one in asked.data]}

    def alter(admin: Admin) -> None:
        _check(admin, owner)
        admin.alter(owner.kind, changes, validate_only=asked.validate_only)

    await calls.ask(alter)


def _alter_known(admin: Admin, owner: Owner, change: Alteration) -> None:
    """Change one setting; for all brokers any name may be set, elsewhere it must exist."""
    if owner.kind is Kind.TOPIC or owner.broker_id is not None:
        _only(_describe(admin, [owner], [change.name])[0], change.name)
    admin.alter(owner.kind, {owner.name: [change]})
