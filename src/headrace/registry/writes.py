"""Writes of a decision, made safe for what else may be in the topic.

A registry before ours may have spelled a key in another order. Compaction would keep both records,
and a reader that sees the other one last would bring back what was deleted; so the other spelling
is deleted before ours is written.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.registry import topic_records
from headrace.registry.decisions import Write
from headrace.registry.state import RegistryState
from headrace.registry.subjects import context_of
from headrace.registry.versions import Version


def safe_writes(state: RegistryState, writes: Iterable[Write]) -> tuple[Write, ...]:
    """The writes, each after the deletion of what others called the same key."""
    safe: list[Write] = []
    for key, value in writes:
        other = state.other_spellings.get(key)
        if other is not None:
            safe.append((other, None))
        safe.append((key, value))
    return tuple(safe)


def removal_writes(state: RegistryState, versions: Iterable[Version]) -> list[Write]:
    """Writes that remove versions for good, yet remember that the highest id was used."""
    writes: list[Write] = []
    contexts: set[str] = set()
    for version in versions:
        writes.append((topic_records.schema_key(version.subject, version.version), None))
        context = context_of(version.subject)
        if version.id == state.versions.max_id(context) and context not in contexts:
            contexts.add(context)
            value = topic_records.highest_id_value(version.id)
            writes.append((topic_records.noop_key(context), value))
    return writes
