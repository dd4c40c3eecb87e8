"""Which settings and which mode apply to a subject: its own, else its context's, else those of all.

What is set without a subject belongs to the default context and does not reach into others; what
holds for all is set in the context `.__GLOBAL`. Only the lookup is here; what the settings do is up
to the operations.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headrace.registry.entities import Config
from headrace.registry.state import RegistryState
from headrace.registry.subjects import GLOBAL_SCOPE, beside, context_of, normalized, scope_of


class Mode(StrEnum):
    """What may be done to a subject."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def takes_ids(self) -> bool:
        """Whether the client says under which id and version a schema is stored, unchecked."""
        return self in (Mode.IMPORT, Mode.FORWARD)

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may change."""
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)


def scopes(subject: str | None) -> list[str | None]:
    """Where settings of a subject are looked for, the nearest first."""
    of_context = scope_of(context_of(subject))
    return list(dict.fromkeys((subject, of_context, GLOBAL_SCOPE)))


def config_in_scope(state: RegistryState, subject: str | None) -> Config:
    """The settings that apply; the level is inherited on its own, all else as a whole."""
    found = [state.configs[scope] for scope in scopes(subject) if scope in state.configs]
    levels = [config.compatibility_level for config in found if config.compatibility_level]
    level = levels[0] if levels else state.defaults.compatibility_level
    nearest = found[0] if found else Config()
    return msgspec.structs.replace(nearest, compatibility_level=level)


def mode_in_scope(state: RegistryState, subject: str | None) -> Mode:
    """The mode that applies; READONLY_OVERRIDE without a subject overrides every other."""
    if Mode.READONLY_OVERRIDE in (state.modes.get(None), state.modes.get(GLOBAL_SCOPE)):
        return Mode.READONLY_OVERRIDE
    for scope in scopes(subject):
        if scope in state.modes:
            try:
                return Mode(state.modes[scope])
            except ValueError:
                # A mode of a newer registry: whatever it allows, we cannot know it.
                return Mode.READONLY
    return Mode.READWRITE


def aliased(state: RegistryState, subject: str) -> str:
    """The subject that is meant: a subject can be an alias of another, one step far."""
    subject = normalized(subject)
    config = state.configs.get(subject)
    return beside(subject, config.alias) if config is not None and config.alias else subject
