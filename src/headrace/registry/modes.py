"""The mode of a subject, of a context, or of all: who may write, and how."""

from __future__ import annotations

from headrace.registry import errors, topic_records
from headrace.registry.decisions import Decision, Write
from headrace.registry.entities import ModeReply, ModeUpdateRequest
from headrace.registry.references import check_not_referenced
from headrace.registry.scopes import Mode, mode_in_scope
from headrace.registry.state import RegistryState, is_in_scope
from headrace.registry.subjects import checked_scope
from headrace.registry.writes import removal_writes, safe_writes


def get_mode(
    state: RegistryState, subject: str | None = None, *, default_to_global: bool = False
) -> ModeReply:
    """`GET /mode[/{s}]`; 40409 if a subject has none of its own and that was asked for."""
    scope = checked_scope(subject)
    if not default_to_global and scope not in state.modes:
        if scope is not None:
            raise errors.no_subject_mode(scope)
        return ModeReply(Mode.READWRITE)
    return ModeReply(mode_in_scope(state, scope))


def set_mode(
    state: RegistryState,
    subject: str | None,
    request: ModeUpdateRequest,
    *,
    force: bool = False,
) -> Decision[ModeReply]:
    """`PUT /mode[/{s}]`; a mode of null takes the scope's own away.

    IMPORT lets clients choose ids, so it needs an empty scope, or force. What is left there of
    softly deleted versions then goes for good.
    """
    scope = checked_scope(subject)
    _check_mutable(state)
    key = topic_records.mode_key(scope)
    if request.mode is None:
        return Decision(safe_writes(state, [(key, None)]), ModeReply)
    try:
        mode = Mode(request.mode.upper())
    except ValueError:
        raise errors.invalid_mode() from None
    writes: list[Write] = []
    if mode is Mode.IMPORT and mode_in_scope(state, scope) is not Mode.IMPORT and not force:
        writes += _emptied(state, scope)
    writes.append((key, topic_records.mode_value(scope, mode)))
    return Decision(safe_writes(state, writes), lambda: ModeReply(mode))


def _check_mutable(state: RegistryState) -> None:
    if not state.defaults.mode_mutability:
        raise errors.operation_not_permitted(
            "Mode changes are not allowed; mode.mutability=true allows them"
        )


def _emptied(state: RegistryState, scope: str | None) -> list[Write]:
    versions = [each for each in state.versions if is_in_scope(each.subject, scope)]
    living = sorted({each.subject for each in versions if not each.is_deleted})
    if living:
        raise errors.operation_not_permitted(
            f"Cannot import since found existing subjects: {', '.join(living[:5])}"
            f"{' and more' if len(living) > 5 else ''}; force=true imports beside them"
        )
    for version in versions:
        check_not_referenced(state, version)
    cleared = (topic_records.clear_subject_key(scope), topic_records.clear_subject_value(scope))
    return [*removal_writes(state, versions), cleared]


def delete_mode(
    state: RegistryState, subject: str | None = None, *, recursive: bool = False
) -> Decision[ModeReply]:
    """`DELETE /mode[/{s}]`: the reply is what was set; 40401 if nothing was.

    With `recursive` the modes of all subjects within the scope go as well.
    """
    scope = checked_scope(subject)
    _check_mutable(state)
    within = [
        each
        for each in state.modes
        if each == scope or (recursive and each is not None and is_in_scope(each, scope))
    ]
    old = state.modes.get(scope)
    if scope is not None and not within:
        raise errors.subject_not_found(scope)
    writes = [(topic_records.mode_key(each), None) for each in within]
    return Decision(safe_writes(state, writes), lambda: ModeReply(old or Mode.READWRITE))
