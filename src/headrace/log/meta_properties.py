"""`meta.properties`: which broker of which cluster a log directory belongs to.

A data directory mounted into the wrong broker would serve another cluster's records, so a broker
looks here before it touches anything else. Every refusal is one line that names cause and remedy.

    version 1 (Kafka 3 and later)        version 0 (Kafka with ZooKeeper)
    version=1                            version=0
    cluster.id=<text>                    cluster.id=<text>, may be missing
    node.id=<int>                        broker.id=<int>
    directory.id=<22 characters>         -

The syntax is that of Java's property files. Files of version 0 are accepted and brought to 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from headrace.errors import ConfigError, InvariantViolated
from headrace.runtime.disk import Disk, read_all, write_atomically
from headrace.types import uuid_from_text, uuid_to_text

FILE_NAME: Final = "meta.properties"

_REMEDY: Final = "restore the file from a backup or empty the directory"
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")
_RESERVED_IDS: Final = 100
"""Kafka keeps the ids 0..99 for meanings such as "lost" and "not assigned" (KIP-858)."""


class MetaProperties(NamedTuple):
    """What the file says; None where it says nothing."""

    cluster_id: str | None
    node_id: int | None
    directory_id: UUID | None


def encode(properties: MetaProperties) -> bytes:
    lines = ["version=1"]
    if properties.cluster_id is not None:
        lines.append(f"cluster.id={properties.cluster_id}")
    if properties.node_id is not None:
        lines.append(f"node.id={properties.node_id}")
    if properties.directory_id is not None:
        lines.append(f"directory.id={uuid_to_text(properties.directory_id)}")
    return "\n".join([*lines, ""]).encode()


def decode(data: bytes, path: str) -> MetaProperties:
    values = _parse(data)
    version = values.get("version")
    if version not in ("0", "1"):
        raise ConfigError(f"{path}: version={version}, only 0 and 1 are known; {_REMEDY}")
    id_key = "broker.id" if version == "0" else "node.id"
    node_text = values.get(id_key)
    if node_text is not None and not _NUMBER.fullmatch(node_text):
        raise ConfigError(f"{path}: {id_key}={node_text} is not a number; {_REMEDY}")
    directory_text = values.get("directory.id")
    try:
        directory_id = None if directory_text is None else uuid_from_text(directory_text)
    except ValueError as fault:
        raise ConfigError(f"{path}: directory.id: {fault}; {_REMEDY}") from None
    return MetaProperties(
        values.get("cluster.id"), None if node_text is None else int(node_text), directory_id
    )


def _parse(data: bytes) -> dict[str, str]:
    values = {}
    for raw in data.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if line and line[0] not in "#!":
            key, _, value = line.partition("=")
            # Java puts a backslash before '=', ':', '#' and '!' in values.
            values[key.strip()] = value.strip().replace("\\", "")
    return values


def read(disk: Disk, folder: str) -> MetaProperties | None:
    """The folder's owner, or None if nobody has taken it yet."""
    path = f"{folder}/{FILE_NAME}"
    try:
        data = read_all(disk, path)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise ConfigError(f"cannot read {path}: {fault.strerror}; check its permissions") from None
    return decode(data, path)


def settle(
    disk: Disk,
    folder: str,
    *,
    cluster_id: str,
    node_id: int,
    uuid_factory: Callable[[], UUID],
) -> UUID:
    """Make sure that the folder is ours, writing what is missing; returns the directory's id."""
    found = read(disk, folder) or MetaProperties(None, None, None)
    path = f"{folder}/{FILE_NAME}"
    if found.cluster_id not in (None, cluster_id):
        raise ConfigError(
            f"{folder} belongs to cluster {found.cluster_id}, this broker to {cluster_id}; "
            f"point log.dirs elsewhere, or empty the directory if its data may go"
        )
    if found.node_id not in (None, node_id):
        raise ConfigError(
            f"{folder} belongs to broker {found.node_id}, this broker is {node_id}; "
            f"correct node.id or give each broker its own log.dirs"
        )
    directory_id = found.directory_id or _new_directory_id(uuid_factory)
    wanted = encode(MetaProperties(cluster_id, node_id, directory_id))
    if found != MetaProperties(cluster_id, node_id, directory_id):
        try:
            write_atomically(disk, path, wanted)
        except OSError as fault:
            raise ConfigError(
                f"cannot write {path}: {fault.strerror}; the broker needs write access to log.dirs"
            ) from None
    return directory_id


def _new_directory_id(uuid_factory: Callable[[], UUID]) -> UUID:
    """An id that is not reserved and that no command line takes for an option."""
    for _ in range(100):
        directory_id = uuid_factory()
        if directory_id.int >= _RESERVED_IDS and not uuid_to_text(directory_id).startswith("-"):
            return directory_id
    raise InvariantViolated("one hundred random ids in a row cannot be used: chance is broken")
