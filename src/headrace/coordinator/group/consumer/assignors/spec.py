"""What an assignor is given: members with their wishes and their last target, and topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from headrace.coordinator.group.modern.member import Target


class Candidate(NamedTuple):
    """One member as an assignor sees it."""

    instance_id: str | None
    topics: frozenset[UUID]  # what it subscribes to; all of these topics exist
    target: Target  # what it was to have until now


Candidates: TypeAlias = Mapping[str, Candidate]
PartitionCounts: TypeAlias = Mapping[UUID, int]
Assignor: TypeAlias = Callable[[Candidates, PartitionCounts], dict[str, Target]]
"""Gives every partition of every subscribed topic to one of its subscribers, always in the same
way for the same input; each member is in the answer, with nothing if need be."""
