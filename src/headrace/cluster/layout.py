"""Where each fact of the cluster lives in the coordination tree, and how it is written there.

The paths and the JSON are those of ZooKeeper-era Kafka, so that an operator and old tools find what
they expect. Reading is forgiving about additional fields and strict about the ones that matter.

    PATH                                    CONTENT
    /cluster/id                             {"version":"1","id":…}
    /controller             ephemeral       {"version":1,"brokerid":…,"timestamp":…}
    /controller_epoch                       decimal number
    /brokers/ids/N          ephemeral       endpoints, host, port, rack, epoch, directories
    /brokers/epochs/N                       empty; its version is the epoch of N's latest start
    /brokers/topic_ids/I                    the name of the topic that has this id
    /brokers/topics/T                       {"version":3,"topic_id":…,"partitions":{"0":[…]},…}
    /brokers/topics/T/partitions/P/state    {"leader":…,"leader_epoch":…,"isr":[…],…}
    /config/topics/T                        {"version":1,"config":{…}}
    /config/brokers/N, …/<default>          the same
    /config/groups/G                        the same; G is the group's id, percent-encoded
    /config/users/U, /config/clients/C      the same, with the quotas of a user, of a client id, of
    /config/users/U/clients/C, …/ips/A      both, of an address; <default> is everybody else
    /config/client-metrics/S                the same; S is a subscription's name, percent-encoded
    /feature                                {"version":2,"status":1,"features":{"name":level}}
    /admin/delete_topics/T                  empty; the topic is gone, its folders not yet
    /isr_change_notification/isr_change_N   {"version":1,"partitions":[{"topic":…,"partition":…}]}
    /latest_producer_id_block               {"version":1,"broker":…,"block_start":"…",…}

Versions alone cannot tell a topic from a later one of the same name: both begin at 0. So each topic
has a node named by its id, and whoever changes a topic lets the transaction check that it exists.
In the same way a broker that starts first takes a new epoch: from then on nobody can add it to an
ISR because of what its last life had fetched.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote
from uuid import UUID

from headrace.cluster.config_owners import DEFAULT_ENTITY, ConfigOwner, OwnerKind
from headrace.cluster.image import (
    BrokerRegistration,
    Endpoint,
    PartitionImage,
    TopicImage,
)
from headrace.errors import CorruptData

CLUSTER_ID: Final = "/cluster/id"
CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
BROKER_IDS: Final = "/brokers/ids"
BROKER_SEQUENCE: Final = "/brokers/seqid"
BROKER_EPOCHS: Final = "/brokers/epochs"
TOPICS: Final = "/brokers/topics"
TOPIC_IDS: Final = "/brokers/topic_ids"
ISR_CHANGES: Final = "/isr_change_notification"
CONFIGS: Final = {kind: f"/config/{kind}" for kind in OwnerKind}
FEATURES: Final = "/feature"
DELETED_TOPICS: Final = "/admin/delete_topics"
PRODUCER_ID_BLOCK: Final = "/latest_producer_id_block"

_FEATURES_ENABLED: Final = 1

_JSON: Final = json.JSONDecoder()
_TO_JSON: Final = json.JSONEncoder(separators=(",", ":"))

# Nodes that exist in every cluster, parents first.
SKELETON: Final = (
    "/cluster",
    "/brokers",
    BROKER_IDS,
    BROKER_SEQUENCE,
    BROKER_EPOCHS,
    TOPICS,
    TOPIC_IDS,
    "/config",
    *CONFIGS.values(),
    "/config/changes",
    "/admin",
    DELETED_TOPICS,
    "/consumers",
    ISR_CHANGES,
    "/kafka-acl",
    "/log_dir_event_notification",
)


def topic_path(name: str) -> str:
    return f"{TOPICS}/{name}"


def partition_path(name: str, partition: int) -> str:
    return f"{TOPICS}/{name}/partitions/{partition}"


def state_path(name: str, partition: int) -> str:
    return f"{TOPICS}/{name}/partitions/{partition}/state"


def topic_id_path(topic_id: UUID) -> str:
    return f"{TOPIC_IDS}/{id_text(topic_id)}"


def deleted_topic_path(name: str) -> str:
    return f"{DELETED_TOPICS}/{name}"


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def broker_epoch_path(broker_id: int) -> str:
    return f"{BROKER_EPOCHS}/{broker_id}"


def node_name(text: str) -> str:
    """Any text as the name of a node, percent-encoded."""
    name = quote(text, safe="")
    # These two are the only harmless characters that cannot be a name in the tree.
    return name.replace(".", "%2E") if name in (".", "..") else name


def config_path(owner: ConfigOwner) -> str:
    """The node with the settings of an owner."""
    name = node_name(owner.name) if owner.kind.is_any_text else owner.name
    return f"{CONFIGS[owner.kind]}/{name}"


def config_owner(path: str) -> ConfigOwner:
    """Whose settings a node holds: the other direction of `config_path`."""
    _, _, folder, name = path.split("/", 3)
    kind = OwnerKind(folder)
    if kind is OwnerKind.BROKER and name != DEFAULT_ENTITY:
        decode_number(path, name)
    return ConfigOwner(kind, unquote(name) if kind.is_any_text else name)


def id_text(topic_id: UUID) -> str:
    """A topic id as Kafka prints it: 22 characters of URL-safe base 64."""
    return base64.urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode()


def parse_id(text: str) -> UUID:
    return UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def encode(value: object) -> bytes:
    return _TO_JSON.encode(value).encode()


def decode(path: str, data: bytes) -> dict[str, Any]:
    """The JSON object in a node, or CorruptData naming the node."""
    try:
        value = _JSON.decode(data.decode())
    except ValueError as error:
        raise CorruptData(f"node {path} holds no JSON: {error}") from None
    if not isinstance(value, dict):
        raise CorruptData(f"node {path} holds no JSON object")
    return value


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """What a topic's node says of one partition."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


def encode_topic(topic: TopicImage) -> bytes:
    partitions = [(str(index), partition) for index, partition in enumerate(topic.partitions)]
    return encode(
        {
            "version": 3,
            "topic_id": id_text(topic.id),
            "partitions": {index: list(partition.replicas) for index, partition in partitions},
            "adding_replicas": {
                index: list(partition.adding) for index, partition in partitions if partition.adding
            },
            "removing_replicas": {
                index: list(partition.removing)
                for index, partition in partitions
                if partition.removing
            },
        }
    )


def decode_topic(path: str, data: bytes) -> tuple[UUID, list[ReplicaAssignment]]:
    """The id of a topic and the replicas of its partitions in order."""
    value = decode(path, data)
    try:
        topic_id = parse_id(value["topic_id"])
        assigned = value["partitions"]
        adding = value.get("adding_replicas") or {}
        removing = value.get("removing_replicas") or {}
        if not (adding or removing):
            return topic_id, [
                ReplicaAssignment(tuple(assigned[str(number)])) for number in range(len(assigned))
            ]
        return topic_id, [
            ReplicaAssignment(
                tuple(assigned[number]),
                tuple(adding.get(number, ())),
                tuple(removing.get(number, ())),
            )
            for number in map(str, range(len(assigned)))
        ]
    except (KeyError, ValueError, TypeError, AttributeError, binascii.Error) as error:
        raise CorruptData(f"node {path} does not describe a topic: {error!r}") from None


def encode_state(partition: PartitionImage, controller_epoch: int) -> bytes:
    return encode(
        {
            "version": 1,
            "controller_epoch": controller_epoch,
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "isr": list(partition.isr),
        }
    )


def decode_state(
    path: str, data: bytes, version: int, assigned: ReplicaAssignment
) -> PartitionImage:
    """A partition from its state node; the node's version is the partition epoch."""
    value = decode(path, data)
    try:
        return PartitionImage(
            assigned.replicas,
            tuple(value["isr"]),
            int(value["leader"]),
            int(value["leader_epoch"]),
            version,
            assigned.adding,
            assigned.removing,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise CorruptData(f"node {path} does not describe a partition: {error!r}") from None


def encode_isr_changes(partitions: Iterable[tuple[str, int]]) -> bytes:
    changed = [{"topic": topic, "partition": partition} for topic, partition in partitions]
    return encode({"version": 1, "partitions": changed})


def encode_configs(configs: dict[str, str]) -> bytes:
    return encode({"version": 1, "config": configs})


def decode_configs(path: str, data: bytes) -> dict[str, str]:
    """The settings in a node; one that only has others below it is empty."""
    if not data:
        return {}
    configs = decode(path, data).get("config")
    if not isinstance(configs, dict):
        raise CorruptData(f"node {path} has no field 'config'")
    return {str(key): str(value) for key, value in configs.items()}


def encode_features(levels: dict[str, int]) -> bytes:
    return encode({"version": 2, "status": _FEATURES_ENABLED, "features": levels})


def decode_features(path: str, data: bytes) -> dict[str, int]:
    levels = decode(path, data).get("features")
    if not isinstance(levels, dict) or not all(type(level) is int for level in levels.values()):
        raise CorruptData(f"node {path} does not list features with their levels")
    return levels


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    return encode({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp_ms)})


def decode_controller(path: str, data: bytes) -> int:
    try:
        return int(decode(path, data)["brokerid"])
    except (KeyError, ValueError, TypeError) as error:
        raise CorruptData(f"node {path} names no broker: {error!r}") from None


def decode_number(path: str, text: str | bytes) -> int:
    """A number that is the whole data, or the name, of a node."""
    try:
        return int(text)
    except ValueError:
        raise CorruptData(f"node {path}: {text!r} is not a number") from None


def encode_broker(broker: BrokerRegistration, timestamp_ms: int) -> bytes:
    plain = next(iter(broker.endpoints.values()), None)
    value: dict[str, object] = {
        "version": 5,
        "listener_security_protocol_map": {
            name: endpoint.security_protocol for name, endpoint in broker.endpoints.items()
        },
        "endpoints": [
            f"{name}://{_bracket(endpoint.host)}:{endpoint.port}"
            for name, endpoint in broker.endpoints.items()
        ],
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "jmx_port": -1,
        "features": {},
        "epoch": broker.epoch,
        "timestamp": str(timestamp_ms),
    }
    if broker.rack is not None:
        value["rack"] = broker.rack
    if broker.directories:
        value["directories"] = list(broker.directories)
    return encode(value)


def decode_broker(path: str, broker_id: int, data: bytes) -> BrokerRegistration:
    value = decode(path, data)
    try:
        protocols = value.get("listener_security_protocol_map", {})
        endpoints = {}
        for text in value["endpoints"]:
            name, _, address = text.partition("://")
            host, _, port = address.rpartition(":")
            endpoints[name] = Endpoint(host.strip("[]"), int(port), protocols.get(name, name))
        return BrokerRegistration(
            broker_id,
            endpoints,
            value.get("rack"),
            int(value.get("epoch", 0)),
            tuple(value.get("directories", ())),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CorruptData(f"node {path} does not describe a broker: {error!r}") from None


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host
