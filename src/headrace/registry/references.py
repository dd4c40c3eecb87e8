"""Schemas that need other schemas: all of them are found before one is parsed.

A reference names a version of a subject; without a context it means one in the context of whoever
refers to it. What the formats make of references is up to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from headrace.registry import errors
from headrace.registry.contents import Content
from headrace.registry.entities import SchemaReference
from headrace.registry.state import RegistryState
from headrace.registry.subjects import LATEST, beside
from headrace.registry.versions import Version
from headrace.schemas.model import ParsedSchema, Reference, Resolved

MOST_REFERENCES: Final = 1_000


def referenced(state: RegistryState, subject: str, reference: SchemaReference) -> Version:
    """The version that somebody in `subject` refers to; 42201 if it does not exist."""
    name = beside(subject, reference.subject)
    if reference.version == LATEST:
        version = state.versions.latest(name)
    else:
        version = state.versions.get(name, reference.version)
    if version is None:
        raise errors.invalid_schema(
            "Invalid schema, details: No schema reference found for subject "
            f'"{reference.subject}" and version {reference.version}'
        )
    return version


def pinned(
    state: RegistryState, subject: str, references: Sequence[SchemaReference]
) -> list[SchemaReference]:
    """References with the latest version, if that is what they ask for, by its number.

    What a schema means must not change when somebody registers another.
    """
    return [
        replace(each, version=referenced(state, subject, each).version)
        if each.version == LATEST
        else each
        for each in references
    ]


def resolve(
    state: RegistryState, subject: str, references: Sequence[SchemaReference]
) -> tuple[Resolved, ...]:
    """All that is needed, directly and through others, each after what it needs itself."""
    resolved: dict[str, Resolved] = {}
    in_progress: set[str] = set()

    # Iterative, because the depth is in the hands of whoever imported the schemas.
    todo: list[tuple[str, SchemaReference, bool]] = [
        (subject, each, False) for each in reversed(references)
    ]
    while todo:
        parent, reference, is_done = todo.pop()
        if reference.name in resolved:
            continue
        version = referenced(state, parent, reference)
        if is_done:
            named = Reference(reference.name, version.subject, version.version)
            resolved[reference.name] = Resolved(named, version.content.text)
            continue
        if reference.name in in_progress:
            raise errors.invalid_schema(
                f"Invalid schema, details: the reference {reference.name!r} leads back to itself"
            )
        in_progress.add(reference.name)
        if len(in_progress) > MOST_REFERENCES:
            raise errors.invalid_schema(
                f"Invalid schema, details: it needs more than {MOST_REFERENCES} other schemas"
            )
        todo.append((parent, reference, True))
        todo += [(version.subject, each, False) for each in reversed(version.content.references)]
    return tuple(resolved.values())


def parsed(state: RegistryState, subject: str, content: Content) -> ParsedSchema:
    """The parsed schema of a content as it is registered under a subject."""
    needed = resolve(state, subject, content.references)
    return state.parsed.parse(content.type, content.text, needed)


def check_not_referenced(state: RegistryState, version: Version) -> None:
    """42206 if other schemas refer to a version, with the names of some."""
    referers = state.versions.referers(version.subject, version.version)
    if not referers:
        return
    names = [f"subject '{each.subject}' version {each.version}" for each in referers[:5]]
    more = f" and {len(referers) - 5} more" if len(referers) > 5 else ""
    raise errors.reference_exists(
        "One or more references exist to the schema "
        f"{{magic=1,keytype=SCHEMA,subject={version.subject},version={version.version}}}. "
        f"It is referenced by {', '.join(names)}{more}; delete those first."
    )
