"""What a setting is at this moment, and which of the five levels it comes from."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

from examples.cluster.lab import PATIENCE_S

_LEVELS: Final = {
    1: "topic",
    2: "dynamic, of the broker",
    3: "dynamic, of the cluster",
    4: "the broker's file",
    5: "built in",
}


class Setting(NamedTuple):
    value: str
    level: str


def setting_of(servers: str, kind: str, name: str, key: str) -> Setting:
    """`kind` is topic or broker, `name` a topic or a broker's id."""
    admin: Any = import_module("confluent_kafka.admin")
    resource = admin.ConfigResource(admin.ResourceType[kind.upper()], name)
    client = admin.AdminClient({"bootstrap.servers": servers, "log_level": 0})
    found = client.describe_configs([resource], request_timeout=PATIENCE_S)[resource]
    entry = found.result(PATIENCE_S)[key]
    return Setting(entry.value, _LEVELS[int(entry.source)])
