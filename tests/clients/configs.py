"""Requests about configs, as the tests of the three config APIs need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from headrace.errors import Error
from headrace.wire.messages import alter_configs, describe_configs, incremental_alter_configs
from tests.clients.raw import Connection


class Resource(IntEnum):
    """What has configs, as the protocol numbers it."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Where a value comes from, as the protocol numbers it."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    DYNAMIC_GROUP = 8


class Op(IntEnum):
    """What IncrementalAlterConfigs does to a key, as the protocol numbers it."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def described(
    connection: Connection,
    name: str,
    *,
    kind: Resource = Resource.TOPIC,
    keys: Sequence[str] | None = None,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> Any:
    """The resource's part of the answer, whatever it says."""
    resource = describe_configs.DescribeConfigsResource(
        resource_type=kind,
        resource_name=name,
        configuration_keys=None if keys is None else list(keys),
    )
    request = describe_configs.DescribeConfigsRequest(
        resources=[resource], include_synonyms=synonyms, include_documentation=documentation
    )
    (result,) = connection.ask(request, version).results
    return result


def configs_of(connection: Connection, name: str, **options: Any) -> dict[str, Any]:
    """Every config of a resource by its name."""
    result = described(connection, name, **options)
    assert result.error_code == Error.NONE, result.error_message
    return {config.name: config for config in result.configs}


def value_of(connection: Connection, topic: str, key: str) -> str | None:
    """One config of a topic as it is in force."""
    value: str | None = configs_of(connection, topic)[key].value
    return value


def replaced(
    connection: Connection,
    name: str,
    values: Mapping[str, str | None],
    *,
    kind: Resource = Resource.TOPIC,
    version: int = 2,
    validate_only: bool = False,
) -> Any:
    """AlterConfigs: these and no others are the resource's own configs afterwards."""
    entries = [alter_configs.AlterableConfig(name=key, value=values[key]) for key in values]
    resource = alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=entries
    )
    request = alter_configs.AlterConfigsRequest(resources=[resource], validate_only=validate_only)
    (result,) = connection.ask(request, version).responses
    return result


def changed(
    connection: Connection,
    name: str,
    *changes: tuple[str, Op, str | None],
    kind: Resource = Resource.TOPIC,
    version: int = 1,
    validate_only: bool = False,
) -> Any:
    """IncrementalAlterConfigs: each key by an operation of its own."""
    entries = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=op, value=value)
        for key, op, value in changes
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=entries
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[resource], validate_only=validate_only
    )
    (result,) = connection.ask(request, version).responses
    return result
