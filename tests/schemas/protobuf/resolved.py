"""Schemas and references for tests, in few words."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.schemas.model import Reference, Resolved
from headrace.schemas.protobuf import ProtobufSchema, parse


def parsed(text: str, imports: Iterable[tuple[str, str]] = ()) -> ProtobufSchema:
    """A schema whose imports are given as names and texts."""
    return parse(text, [Resolved(Reference(name, name, 1), source) for name, source in imports])
