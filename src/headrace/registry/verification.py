"""What is wrong with a state that was loaded: an operator should know before a client does."""

from __future__ import annotations

from typing import Final

from headrace.registry.state import RegistryState
from headrace.registry.subjects import beside

MOST_OF_A_KIND: Final = 20


def verify(state: RegistryState) -> list[str]:
    """Findings in full sentences; an empty list is good news."""
    found = list(state.findings)
    unreported = state.broken_records - len(state.findings)
    if unreported > 0:
        found.append(f"{unreported} more records could not be understood")
    if state.other_spellings:
        found.append(
            f"{len(state.other_spellings)} keys were written in another order of their properties; "
            "each is replaced when it changes"
        )
    return [*found, *_cut(_dangling(state)), *_cut(_ambiguous(state))]


def _cut(findings: list[str]) -> list[str]:
    if len(findings) <= MOST_OF_A_KIND:
        return findings
    rest = len(findings) - MOST_OF_A_KIND
    return [*findings[:MOST_OF_A_KIND], f"{rest} more findings of this kind"]


def _dangling(state: RegistryState) -> list[str]:
    """References to what is not there."""
    return [
        f"subject '{version.subject}' version {version.version} refers to subject "
        f"'{reference.subject}' version {reference.version}, which does not exist"
        for version in state.versions
        for reference in version.content.references
        if not version.is_deleted
        and state.versions.get(beside(version.subject, reference.subject), reference.version)
        is None
    ]


def _ambiguous(state: RegistryState) -> list[str]:
    """Ids that stand for more than one schema: what clients decode depends on luck."""
    found = []
    for context, index in state.versions.contexts.items():
        for schema_id, versions in index.by_id.items():
            if len({each.content.key for each in versions}) > 1:
                places = ", ".join(f"'{each.subject}' {each.version}" for each in versions[:5])
                found.append(
                    f"id {schema_id} of context {context} stands for different schemas: {places}"
                )
    return found
