"""Offsets of consumers from before groups had a coordinator: they are nodes in ZooKeeper.

    /consumers/GROUP/offsets/TOPIC/PARTITION    the next offset to read, as decimal digits

Only `headrace group reset --from-zookeeper` reads them, to take a group over; nothing is written.
"""

from __future__ import annotations

from typing import Final

from headrace.cli.failures import Failure
from headrace.types import Offset, TopicPartition

_TIMEOUT_MS: Final = 6_000
_MAX_DIGITS: Final = 18


def read_legacy_offsets(hosts: str, group: str) -> dict[TopicPartition, Offset]:
    """What an old consumer group has committed; Failure if it has nothing or something odd."""
    from headrace.coordination import zookeeper

    root = f"/consumers/{group}/offsets"
    tree = zookeeper.connect(hosts, connection_timeout_ms=_TIMEOUT_MS)
    try:
        nodes = tree.subtree(root)
    finally:
        tree.close()
    offsets: dict[TopicPartition, Offset] = {}
    for path, node in nodes.items():
        words = path.removeprefix(root).split("/")[1:]
        if len(words) != 2:
            continue
        topic, partition = words
        if not _is_number(partition) or not _is_number(text := node.data.decode(errors="replace")):
            raise Failure(
                f"{path} in ZooKeeper does not hold an offset", "correct or delete the node"
            )
        offsets[TopicPartition(topic, int(partition))] = int(text)
    if not offsets:
        raise Failure(
            f'ZooKeeper at {hosts} has no offsets of a group "{group}"',
            "see `zookeeper-shell HOST:PORT ls /consumers`; a chroot belongs to the address",
        )
    return offsets


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
