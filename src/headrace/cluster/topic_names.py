"""Which names a topic may have.

A name becomes a folder (`name-partition`) and part of metric names, where '.' and '_' are the same
character; two topics that differ only there would share their metrics, so the second is refused.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import ClientFault, Error

MAX_NAME_LENGTH: Final = 249

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"

INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def name_problem(name: str) -> str | None:
    """Why a name cannot be a topic's, or None if it can."""
    if not name:
        return "the name is empty"
    if name in (".", ".."):
        return "'.' and '..' cannot be topic names"
    if len(name) > MAX_NAME_LENGTH:
        return f"the name has {len(name)} characters, at most {MAX_NAME_LENGTH} are allowed"
    if not _LEGAL.fullmatch(name):
        return "only ASCII letters, digits, '.', '_' and '-' are allowed"
    return None


def check_name(name: str) -> None:
    """Refuse a name that is not legal."""
    problem = name_problem(name)
    if problem is not None:
        raise ClientFault(
            Error.INVALID_TOPIC_EXCEPTION, f"Topic name {name!a} is invalid: {problem}."
        )


def collision_key(name: str) -> str:
    """Names with the same key would share their metrics."""
    return name.replace(".", "_")
