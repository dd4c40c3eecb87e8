"""Settings of a topic, of a broker, and of all brokers together: show, set, reset, change several.

The three owners differ in their path and in one field of the resource; `_Owner` has the difference,
everything else is the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from headrace.client.cluster import Cluster
from headrace.errors import Error
from headrace.rest.call import Call
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.asking import ask_any, ask_broker, describe_cluster
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.config_requests import AlterConfigs, UpdateConfig, operation_of
from headrace.rest.v3.resources import Links, Listing, Resource, enter
from headrace.rest.v3.topic_metadata import topic_names
from headrace.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

_TOPIC: Final = 2
_BROKER: Final = 4
_SET: Final = 0
_DELETE: Final = 1
_SOURCES: Final = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
}
_DYNAMIC: Final = (2, 3)
_DEFAULT_SOURCE: Final = 5


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
    type: int
    name: str
    path: tuple[str | int, ...]
    crn: tuple[str, ...]
    field: dict[str, Any]

    @property
    def broker_id(self) -> int | None:
        """The broker that alone can answer, if there is one."""
        return int(self.name) if self.type == _BROKER and self.name else None


def of_topic(name: str) -> Owner:
    return Owner(
        KafkaTopicConfig,
        KafkaTopicConfigList,
        _TOPIC,
        name,
        ("topics", name, "configs"),
        (f"topic={name}", "config"),
        {"topic_name": name},
    )


def of_broker(broker_id: int) -> Owner:
    return Owner(
        KafkaBrokerConfig,
        KafkaBrokerConfigList,
        _BROKER,
        str(broker_id),
        ("brokers", broker_id, "configs"),
        (f"broker={broker_id}", "config"),
        {"broker_id": broker_id},
    )


def of_all_brokers() -> Owner:
    return Owner(
        KafkaClusterConfig,
        KafkaClusterConfigList,
        _BROKER,
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

    def describe(cluster: Cluster) -> tuple[list[Owner], list[list[DescribeConfigsResourceResult]]]:
        owners = [of_topic(name) for name in topic_names(cluster)]
        return owners, _describe(cluster, owners)

    return _all(links, KafkaTopicConfigList, "topics", *await calls.ask(describe))


@table.get(
    f"{_CLUSTER}/brokers/-/configs",
    "List the dynamic settings of every broker",
    reply=KafkaBrokerConfigList,
)
async def list_configs_of_each_broker(call: Call) -> Listing[KafkaConfig]:
    """Only what was set at run time, as the name of this list promises: dynamic settings."""
    calls, links = await enter(call)

    def describe(cluster: Cluster) -> tuple[list[Owner], list[list[DescribeConfigsResourceResult]]]:
        known = sorted(broker.broker_id for broker in describe_cluster(cluster).brokers)
        owners = [of_broker(broker_id) for broker_id in known]
        found = [_describe(cluster, [owner])[0] for owner in owners]
        return owners, [[one for one in each if one.config_source in _DYNAMIC] for each in found]

    return _all(links, KafkaBrokerConfigList, "brokers", *await calls.ask(describe))


def _all(
    links: Links,
    listed: type[Listing[Any]],
    noun: str,
    owners: Sequence[Owner],
    found: Sequence[Sequence[DescribeConfigsResourceResult]],
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
    found = await calls.ask(lambda cluster: _describe(cluster, [owner]))
    data = [_shown(links, owner, config) for config in found[0]]
    return owner.listed(links.listed(*owner.path), data)


@table.get(f"{_TOPICS}/{{name}}", "Get a setting", reply=KafkaTopicConfig)
@table.get(f"{_BROKERS}/{{name}}", "Get a setting", reply=KafkaBrokerConfig)
@table.get(f"{_ALL_BROKERS}/{{name}}", "Get a setting", reply=KafkaClusterConfig)
async def get_config(call: Call) -> KafkaConfig:
    calls, links = await enter(call)
    owner, name = owner_of(call), call.path("name")
    found = await calls.ask(lambda cluster: _describe(cluster, [owner], [name]))
    return _shown(links, owner, _only(found[0], name))


def _describe(
    cluster: Cluster, owners: Sequence[Owner], names: list[str] | None = None
) -> list[list[DescribeConfigsResourceResult]]:
    """The settings of each owner; all of them must be answered by the same broker, or by any."""
    if not owners:
        return []
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=owner.type, resource_name=owner.name, configuration_keys=names
            )
            for owner in owners
        ],
        include_synonyms=True,
    )
    response = _ask(cluster, owners[0], request, "describing settings")
    by_name = {}
    for result in response.results:
        if result.error_code:
            raise faults.of_code(result.error_code, _detail(result))
        by_name[result.resource_name] = sorted(result.configs, key=lambda config: config.name)
    return [by_name.get(owner.name, []) for owner in owners]


def _detail(result: Any) -> str | None:
    """The broker's text, unless ours for an unknown topic is the one that clients know."""
    detail: str | None = result.error_message
    return None if result.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION else detail


def _ask(cluster: Cluster, owner: Owner, request: Any, what: str) -> Any:
    if owner.broker_id is None:
        return ask_any(cluster, request, what)
    find_broker(cluster, owner.broker_id)
    return ask_broker(cluster, owner.broker_id, request, what)


def _only(
    configs: Sequence[DescribeConfigsResourceResult], name: str
) -> DescribeConfigsResourceResult:
    for config in configs:
        if config.name == name:
            return config
    raise faults.not_found(f"Config {name} cannot be found.")


def _shown(links: Links, owner: Owner, config: DescribeConfigsResourceResult) -> KafkaConfig:
    *parents, last = owner.crn
    crn = (*parents, f"{last}={config.name}")
    return owner.shown(
        metadata=links.metadata(*owner.path, config.name, crn=crn),
        cluster_id=links.cluster_id,
        **owner.field,
        name=config.name,
        value=config.value,
        is_default=config.config_source == _DEFAULT_SOURCE,
        is_read_only=config.read_only,
        is_sensitive=config.is_sensitive,
        source=_SOURCES.get(config.config_source, "UNKNOWN"),
        synonyms=[
            Synonym(each.name, each.value, _SOURCES.get(each.source, "UNKNOWN"))
            for each in config.synonyms
        ],
    )


# -- changing -------------------------------------------------------------------------------------


@table.put(f"{_TOPICS}/{{name}}", "Set a setting", body=UpdateConfig, status=204)
@table.put(f"{_BROKERS}/{{name}}", "Set a setting", body=UpdateConfig, status=204)
@table.put(f"{_ALL_BROKERS}/{{name}}", "Set a setting", body=UpdateConfig, status=204)
async def update_config(call: Call) -> None:
    calls, _ = await enter(call)
    owner, name = owner_of(call), call.path("name")
    change = AlterableConfig(name=name, config_operation=_SET, value=call.body.value)
    await calls.ask(lambda cluster: _alter_known(cluster, owner, change))


@table.delete(f"{_TOPICS}/{{name}}", "Reset a setting to its default", status=204)
@table.delete(f"{_BROKERS}/{{name}}", "Reset a setting to its default", status=204)
@table.delete(f"{_ALL_BROKERS}/{{name}}", "Reset a setting to its default", status=204)
async def reset_config(call: Call) -> None:
    calls, _ = await enter(call)
    owner, name = owner_of(call), call.path("name")
    change = AlterableConfig(name=name, config_operation=_DELETE, value=None)
    await calls.ask(lambda cluster: _alter_known(cluster, owner, change))


@table.post(
    f"{_CLUSTER}/topics/-/configs:alter",
    "Change settings of several topics",
    body=AlterConfigs,
    status=204,
)
async def alter_configs_of_topics(call: Call) -> None:
    calls, _ = await enter(call)
    asked: AlterConfigs = call.body
    by_topic: dict[str, list[AlterableConfig]] = {}
    for one in asked.data:
        if one.topic_name is None:
            raise faults.bad_request(f"the change of {one.name} names no topic_name")
        change = AlterableConfig(name=one.name, config_operation=operation_of(one), value=one.value)
        by_topic.setdefault(one.topic_name, []).append(change)
    changes = [(of_topic(name), listed) for name, listed in by_topic.items()]
    await calls.ask(lambda cluster: _alter(cluster, changes, validate_only=asked.validate_only))


@table.post(f"{_TOPICS}:alter", "Change settings", body=AlterConfigs, status=204)
@table.post(f"{_BROKERS}:alter", "Change settings", body=AlterConfigs, status=204)
@table.post(f"{_ALL_BROKERS}:alter", "Change settings", body=AlterConfigs, status=204)
async def alter_configs(call: Call) -> None:
    calls, _ = await enter(call)
    owner, asked = owner_of(call), call.body
    changes = [
        AlterableConfig(name=one.name, config_operation=operation_of(one), value=one.value)
        for one in asked.data
    ]
    await calls.ask(
        lambda cluster: _alter(cluster, [(owner, changes)], validate_only=asked.validate_only)
    )


def _alter_known(cluster: Cluster, owner: Owner, change: AlterableConfig) -> None:
    """Change one setting; for all brokers any name may be set, elsewhere it must exist."""
    if owner.type == _TOPIC or owner.broker_id is not None:
        _only(_describe(cluster, [owner], [change.name])[0], change.name)
    _alter(cluster, [(owner, [change])], validate_only=False)


def _alter(
    cluster: Cluster,
    changes: Sequence[tuple[Owner, list[AlterableConfig]]],
    *,
    validate_only: bool,
) -> None:
    if not changes:
        return
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(resource_type=owner.type, resource_name=owner.name, configs=listed)
            for owner, listed in changes
        ],
        validate_only=validate_only,
    )
    response = _ask(cluster, changes[0][0], request, "changing settings")
    for result in response.responses:
        if result.error_code:
            raise faults.of_code(result.error_code, _detail(result))
