"""Contexts come with their first subject and go when somebody deletes them empty."""

from __future__ import annotations

from headrace.registry import errors, topic_records
from headrace.registry.decisions import Decision, Write
from headrace.registry.state import RegistryState, is_in_scope
from headrace.registry.subjects import DEFAULT_CONTEXT, GLOBAL_CONTEXT, parsed_context
from headrace.registry.writes import safe_writes


def delete_context(state: RegistryState, context: str) -> Decision[None]:
    """`DELETE /contexts/{c}`: its settings go with it; 42211 while it has subjects."""
    name = parsed_context(context)
    if name == GLOBAL_CONTEXT:
        raise errors.invalid_subject(context)
    if name == DEFAULT_CONTEXT:
        raise errors.operation_not_permitted("The default context cannot be deleted")
    scope = f":{name}:"
    index = state.versions.contexts.get(name)
    if index is not None and index.by_id:
        raise errors.context_not_empty(name)
    writes: list[Write] = []
    if index is not None and index.is_recorded:
        writes.append((topic_records.context_key(name), None))
    writes += [
        (topic_records.config_key(each), None)
        for each in state.configs
        if each is not None and is_in_scope(each, scope)
    ]
    writes += [
        (topic_records.mode_key(each), None)
        for each in state.modes
        if each is not None and is_in_scope(each, scope)
    ]
    return Decision(safe_writes(state, writes), lambda: None)
