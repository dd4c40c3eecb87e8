"""Settings of anything that has some: topics, brokers, their loggers, groups, client metrics.

Each comes with the level that decides its value and the values at the levels below (KIP-226). What
belongs to one broker is asked of that broker, since only it knows its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import Refused, raise_for
from headrace.errors import Error


class Resource(IntEnum):
    """What can have settings, by its number in the protocol."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Where a value comes from, under the names that Kafka's tools print."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


_ALL_KINDS: Final = 1
"""The first version of ListConfigResources that knows more than client metrics (KIP-1142)."""


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: Source


class SettingView(NamedTuple):
    """One setting; the value of a sensitive one is None."""

    name: str
    value: str | None
    source: Source
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[Synonym, ...] = ()

    @property
    def is_default(self) -> bool:
        return self.source is Source.DEFAULT_CONFIG


def topic_settings(admin: Admin, names: Sequence[str]) -> dict[str, list[SettingView]]:
    """Every setting of these topics, without what lies below."""
    return read_several(admin, Resource.TOPIC, names, with_synonyms=False)


def read_settings(admin: Admin, kind: Resource, name: str) -> list[SettingView]:
    """Every setting of one resource, by name; the empty broker name stands for all brokers."""
    return read_several(admin, kind, [name])[name]


def read_several(
    admin: Admin,
    kind: Resource,
    names: Sequence[str],
    keys: list[str] | None = None,
    *,
    with_synonyms: bool = True,
) -> dict[str, list[SettingView]]:
    """These settings, or all, of resources that the same broker can answer for."""
    from headrace.wire.messages.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
    )

    if not names:
        return {}
    asked = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        for name in names
    ]
    request = DescribeConfigsRequest(resources=asked, include_synonyms=with_synonyms)
    found = {}
    for each in admin.ask_owner(kind, names[0], request).results:
        raise_for(each.error_code, each.error_message)
        found[each.resource_name] = sorted(_view(one) for one in each.configs)
    return found


def list_resources(admin: Admin, kind: Resource) -> list[str]:
    """The names of those that have settings of their own, sorted."""
    from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest

    newest = admin.cluster.any_broker().newest(ListConfigResourcesRequest)
    if newest < _ALL_KINDS and kind is not Resource.CLIENT_METRICS:
        raise Refused(Error.UNSUPPORTED_VERSION, "the brokers do not list what has settings")
    asked = [int(kind)] if newest >= _ALL_KINDS else []
    answer = admin.ask(ListConfigResourcesRequest(resource_types=asked))
    raise_for(answer.error_code, None)
    return sorted(
        each.resource_name
        for each in answer.config_resources
        if newest < _ALL_KINDS or each.resource_type == kind
    )


def _view(each: Any) -> SettingView:
    return SettingView(
        each.name,
        each.value,
        _source(each.config_source),
        each.is_sensitive,
        each.read_only,
        tuple(Synonym(one.name, one.value, _source(one.source)) for one in each.synonyms),
    )


def _source(number: int) -> Source:
    try:
        return Source(number)
    except ValueError:
        return Source.UNKNOWN
