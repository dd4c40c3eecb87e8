"""Names as Kafka takes them. What it would refuse, or cut at a zero byte, does not reach it."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec

_TOPIC: Final = r"^[a-zA-Z0-9._-]{1,249}$"
_MATCH_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
MAX_GROUP_LENGTH: Final = 255

TopicName = Annotated[str, msgspec.Meta(pattern=_TOPIC)]
TopicPattern = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]+$", max_length=1000)]
Metadata = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$", max_length=4096)]
"""The note of a commit; brokers take 4,096 bytes by default."""


def is_topic_name(name: str) -> bool:
    return _MATCH_TOPIC.fullmatch(name) is not None and name not in (".", "..")


def is_group_name(name: str) -> bool:
    """librdkafka drops blanks at the edges, and ends the process over a name that is left empty."""
    return 0 < len(name) <= MAX_GROUP_LENGTH and name.isprintable() and name == name.strip()
