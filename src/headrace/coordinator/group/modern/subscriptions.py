"""What a group knows of the topics that its members want, in one number (KIP-1101).

The number is written with each epoch of the group. When it no longer fits the topics as they are,
one of them appeared, grew or vanished, and the group needs a new epoch. Apache Kafka writes another
number for the same topics; a broker that takes over its log bumps the epoch once.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct

from headrace.coordinator.topics import Topics

NO_TOPICS_HASH = 0
_NUMBER = Struct(">q")
_TOPIC = Struct(">16siH")


def metadata_hash(names: Iterable[str], topics: Topics) -> int:
    """A number for the id and the size of each of these topics that exists; 0 if none does."""
    digest = blake2b(digest_size=_NUMBER.size)
    is_empty = True
    for name in sorted(names):
        topic_id = topics.topic_id(name)
        if topic_id is None:
            continue
        is_empty = False
        text = name.encode()
        digest.update(_TOPIC.pack(topic_id.bytes, topics.partition_count(name), len(text)))
        digest.update(text)
    if is_empty:
        return NO_TOPICS_HASH
    (number,) = _NUMBER.unpack(digest.digest())
    return int(number)
