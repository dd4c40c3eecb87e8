"""Settings of a topic, of a broker, and of all brokers together: show, set, reset, change several.

The three owners differ in their path and in one field of the resource; `_Owner` has the difference,
everything else is the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.errors import Error
from headrace.rest.openapi import Endpoint
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter
from headrace.rest.v3.asking import ask_any, ask_broker, describe_cluster
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.config_requests import ALTER_REQUEST, AlterConfigs, UpdateConfig, operation_of
from headrace.rest.v3.request_bodies import read_json
from headrace.rest.v3.resources import Body, Links, listing, no_content, reply
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


class Owner(NamedTuple):
    """Whose settings: the resource that a broker knows, and where it stands among ours."""

    kind: str
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
    path = ("topics", name, "configs")
    owned_by = {"topic_name": name}
    crn = (f"topic={name}", "config")
    return Owner("KafkaTopicConfig", _TOPIC, name, path, crn, owned_by)


def of_broker(broker_id: int) -> Owner:
    path = ("brokers", broker_id, "configs")
    crn = (f"broker={broker_id}", "config")
    owned_by = {"broker_id": broker_id}
    return Owner("KafkaBrokerConfig", _BROKER, str(broker_id), path, crn, owned_by)


def of_all_brokers() -> Owner:
    path, crn = ("broker-configs",), ("broker-config",)
    return Owner("KafkaClusterConfig", _BROKER, "", path, crn, {"config_type": "BROKER"})


def owner_of(request: Request) -> Owner:
    """The owner that the path of a request names."""
    parameters = request.path_params
    if "topic_name" in parameters:
        return of_topic(parameters["topic_name"])
    if "broker_id" in parameters:
        return of_broker(parameters["broker_id"])
    return of_all_brokers()


# -- showing --------------------------------------------------------------------------------------


async def list_configs(request: Request) -> Response:
    calls, links = await enter(request)
    owner = owner_of(request)
    found = await calls.ask(lambda cluster: _describe(cluster, [owner]))
    data = [_shown(links, owner, config) for config in found[0]]
    return reply(listing(f"{owner.kind}List", links.url(*owner.path), data))


async def get_config(request: Request) -> Response:
    calls, links = await enter(request)
    owner, name = owner_of(request), request.path_params["name"]
    found = await calls.ask(lambda cluster: _describe(cluster, [owner], [name]))
    return reply(_shown(links, owner, _only(found[0], name)))


async def list_configs_of_all_topics(request: Request) -> Response:
    calls, links = await enter(request)

    def describe(cluster: Cluster) -> tuple[list[Owner], list[list[DescribeConfigsResourceResult]]]:
        owners = [of_topic(name) for name in topic_names(cluster)]
        return owners, _describe(cluster, owners)

    return _all(links, "KafkaTopicConfigList", "topics", *await calls.ask(describe))


async def list_configs_of_each_broker(request: Request) -> Response:
    """Only what was set at run time, as the name of this list promises: dynamic settings."""
    calls, links = await enter(request)

    def describe(cluster: Cluster) -> tuple[list[Owner], list[list[DescribeConfigsResourceResult]]]:
        known = sorted(broker.broker_id for broker in describe_cluster(cluster).brokers)
        owners = [of_broker(broker_id) for broker_id in known]
        found = [_describe(cluster, [owner])[0] for owner in owners]
        return owners, [[one for one in each if one.config_source in _DYNAMIC] for each in found]

    return _all(links, "KafkaBrokerConfigList", "brokers", *await calls.ask(describe))


def _all(
    links: Links,
    kind: str,
    noun: str,
    owners: Sequence[Owner],
    found: Sequence[Sequence[DescribeConfigsResourceResult]],
) -> Response:
    data = [
        _shown(links, owner, config)
        for owner, configs in zip(owners, found, strict=True)
        for config in configs
    ]
    return reply(listing(kind, links.url(noun, "-", "configs"), data))


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


def _shown(links: Links, owner: Owner, config: DescribeConfigsResourceResult) -> Body:
    *parents, last = owner.crn
    return links.resource(
        owner.kind,
        links.url(*owner.path, config.name),
        links.crn(*parents, f"{last}={config.name}"),
        **owner.field,
        name=config.name,
        value=config.value,
        is_default=config.config_source == _DEFAULT_SOURCE,
        is_read_only=config.read_only,
        is_sensitive=config.is_sensitive,
        source=_SOURCES.get(config.config_source, "UNKNOWN"),
        synonyms=[
            {
                "name": synonym.name,
                "value": synonym.value,
                "source": _SOURCES.get(synonym.source, "UNKNOWN"),
            }
            for synonym in config.synonyms
        ],
    )


# -- changing -------------------------------------------------------------------------------------


async def update_config(request: Request) -> Response:
    calls, _ = await enter(request)
    owner, name = owner_of(request), request.path_params["name"]
    update = await read_json(request, UpdateConfig)
    change = AlterableConfig(name=name, config_operation=_SET, value=update.value)
    await calls.ask(lambda cluster: _alter_known(cluster, owner, change))
    return no_content()


async def reset_config(request: Request) -> Response:
    calls, _ = await enter(request)
    owner, name = owner_of(request), request.path_params["name"]
    change = AlterableConfig(name=name, config_operation=_DELETE, value=None)
    await calls.ask(lambda cluster: _alter_known(cluster, owner, change))
    return no_content()


async def alter_configs(request: Request) -> Response:
    calls, _ = await enter(request)
    owner = owner_of(request)
    asked = await read_json(request, AlterConfigs)
    changes = [
        AlterableConfig(name=one.name, config_operation=operation_of(one), value=one.value)
        for one in asked.data
    ]
    await calls.ask(
        lambda cluster: _alter(cluster, [(owner, changes)], validate_only=asked.validate_only)
    )
    return no_content()


async def alter_configs_of_topics(request: Request) -> Response:
    calls, _ = await enter(request)
    asked = await read_json(request, AlterConfigs)
    by_topic: dict[str, list[AlterableConfig]] = {}
    for one in asked.data:
        if one.topic_name is None:
            raise faults.bad_request(f"the change of {one.name} names no topic_name")
        change = AlterableConfig(name=one.name, config_operation=operation_of(one), value=one.value)
        by_topic.setdefault(one.topic_name, []).append(change)
    changes = [(of_topic(name), listed) for name, listed in by_topic.items()]
    await calls.ask(lambda cluster: _alter(cluster, changes, validate_only=asked.validate_only))
    return no_content()


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


# -- the routes -----------------------------------------------------------------------------------

_CLUSTER: Final = "/v3/clusters/{cluster_id}"
_UPDATE_REQUEST: Final = schemas.struct({}, {"value": schemas.TEXT_OR_NULL})
_CONFIGS: Final = {
    f"{_CLUSTER}/topics/{{topic_name}}/configs": schemas.config(
        "KafkaTopicConfig", topic_name=schemas.STRING
    ),
    f"{_CLUSTER}/brokers/{{broker_id:int}}/configs": schemas.config(
        "KafkaBrokerConfig", broker_id=schemas.INTEGER
    ),
    f"{_CLUSTER}/broker-configs": schemas.config("KafkaClusterConfig", config_type=schemas.STRING),
}


def _endpoint(
    path: str,
    method: str,
    handler: Callable[..., Any],
    summary: str,
    responses: dict[int, dict[str, Any] | None],
    request: dict[str, Any] | None = None,
) -> Endpoint:
    errors = (400, 404) if request is None else (400, 404, 413, 415)
    return Endpoint(
        path,
        method,
        handler,
        summary,
        "Configs",
        request=request,
        responses=responses,
        errors=errors,
    )


def _of_owner(path: str, schema: dict[str, Any]) -> tuple[Endpoint, ...]:
    one = f"{path}/{{name}}"
    return (
        _endpoint(path, "GET", list_configs, "List settings", {200: schemas.listing(schema)}),
        _endpoint(
            f"{path}:alter", "POST", alter_configs, "Change settings", {204: None}, ALTER_REQUEST
        ),
        _endpoint(one, "GET", get_config, "Get a setting", {200: schema}),
        _endpoint(one, "PUT", update_config, "Set a setting", {204: None}, _UPDATE_REQUEST),
        _endpoint(one, "DELETE", reset_config, "Reset a setting to its default", {204: None}),
    )


ENDPOINTS: Final = (
    _endpoint(
        f"{_CLUSTER}/topics/-/configs",
        "GET",
        list_configs_of_all_topics,
        "List the settings of all topics",
        {200: schemas.listing(schemas.config("KafkaTopicConfig", topic_name=schemas.STRING))},
    ),
    _endpoint(
        f"{_CLUSTER}/topics/-/configs:alter",
        "POST",
        alter_configs_of_topics,
        "Change settings of several topics",
        {204: None},
        ALTER_REQUEST,
    ),
    _endpoint(
        f"{_CLUSTER}/brokers/-/configs",
        "GET",
        list_configs_of_each_broker,
        "List the dynamic settings of every broker",
        {200: schemas.listing(schemas.config("KafkaBrokerConfig", broker_id=schemas.INTEGER))},
    ),
    *(each for path, schema in _CONFIGS.items() for each in _of_owner(path, schema)),
)
