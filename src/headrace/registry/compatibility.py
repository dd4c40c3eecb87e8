"""Whether a schema fits the earlier ones of its subject, and if not, why, where and since when.

The level says who must read whose data: BACKWARD, new readers read old data; FORWARD, old readers
read new data; FULL, both. It is checked against the latest version, or, with a transitive level,
against all. How two schemas compare is known by the formats alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headrace.registry import errors
from headrace.registry.entities import (
    CompatibilityCheckResponse,
    Config,
    Problem,
    RegisterSchemaRequest,
)
from headrace.registry.fields import reserved_fields, top_level_fields
from headrace.registry.proposals import Proposal, read_proposal, validates_fields
from headrace.registry.references import parsed
from headrace.registry.scopes import aliased, config_in_scope
from headrace.registry.state import RegistryState
from headrace.registry.subjects import LATEST, checked, parsed_version
from headrace.registry.versions import Version
from headrace.schemas import formats
from headrace.schemas.incompatible import Incompatibility, message
from headrace.schemas.model import ParsedSchema

NEW: Final = "new"
OLD: Final = "old"
LENIENT: Final = "LENIENT"
POLICIES: Final = ("STRICT", LENIENT)


class Level(StrEnum):
    """The compatibility levels."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        """Whether all earlier versions count, not just the latest."""
        return self.endswith("_TRANSITIVE")

    @property
    def is_backward(self) -> bool:
        """Whether new readers must read old data."""
        return self.startswith(("BACKWARD", "FULL"))

    @property
    def is_forward(self) -> bool:
        """Whether old readers must read new data."""
        return self.startswith(("FORWARD", "FULL"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong: Confluent's texts, and the same in parts."""

    messages: list[str]
    problems: list[Problem]


def parsed_level(text: str | None) -> Level:
    """A level in any case; 42203 if it is none."""
    try:
        return Level((text or "").upper())
    except ValueError:
        raise errors.invalid_compatibility_level() from None


def judge(
    state: RegistryState,
    config: Config,
    subject: str,
    proposal: Proposal,
    earlier: Sequence[Version],
) -> Verdict:
    """Compare a schema with earlier versions, oldest first, as the level demands."""
    verdict = Verdict([], [])
    if validates_fields(state, config):
        _judge_reserved(proposal, earlier, verdict)
    level = _level_of(config)
    if config.compatibility_group is not None:
        group = _group(config.compatibility_group, proposal)
        earlier = [each for each in earlier if _group(config.compatibility_group, each) == group]
    compared = list(reversed(earlier)) if level.is_transitive else list(earlier[-1:])
    if level is not Level.NONE:
        for version in compared:
            found = _incompatibilities(state, config, level, proposal.parsed, version)
            if found:
                _add(verdict, version, found)
                break
    if verdict.messages:
        validates = str(validates_fields(state, config)).lower()
        verdict.messages.append(f"{{validateFields: '{validates}', compatibility: '{level}'}}")
    return verdict


def _level_of(config: Config) -> Level:
    try:
        return Level(config.compatibility_level or Level.BACKWARD)
    except ValueError:
        # A level that a newer registry wrote: the strictest one that we know errs on the safe side.
        return Level.FULL_TRANSITIVE


def _group(name: str, schema: Proposal | Version) -> str | None:
    metadata = schema.content.metadata
    return (metadata.properties or {}).get(name) if metadata is not None else None


Found = tuple[Incompatibility, str, str]


def _incompatibilities(
    state: RegistryState, config: Config, level: Level, new: ParsedSchema, version: Version
) -> list[Found]:
    """All that is wrong, with what reader and writer are called."""
    try:
        old = parsed(state, version.subject, version.content)
    except errors.RegistryError as fault:
        raise errors.invalid_schema(
            f"The earlier version {version.version} of subject '{version.subject}' cannot be "
            f"compared with: {fault.message}"
        ) from fault
    lenient = (config.compatibility_policy or "").upper() == LENIENT
    found: list[Found] = []
    if level.is_backward:
        wrong = formats.incompatibilities(new, old, lenient=lenient)
        found += [(each, NEW, OLD) for each in wrong]
    if level.is_forward:
        wrong = formats.incompatibilities(old, new, lenient=lenient)
        found += [(each, OLD, NEW) for each in wrong]
    return found


def _add(verdict: Verdict, version: Version, found: list[Found]) -> None:
    for each, reader, writer in found:
        verdict.messages.append(message(each, reader=reader, writer=writer))
        description = each.description.replace("{reader}", reader).replace("{writer}", writer)
        # The checker shows the writer's side first; people ask what was before and what is now.
        before, after = (each.before, each.after) if writer == OLD else (each.after, each.before)
        verdict.problems.append(
            Problem(
                rule=each.kind,
                path=each.path,
                description=description,
                before=before or None,
                after=after or None,
                version=version.version,
            )
        )
    verdict.messages.append(f"{{oldSchemaVersion: {version.version}}}")
    verdict.messages.append(f"{{oldSchema: '{version.content.text}'}}")


def _judge_reserved(proposal: Proposal, earlier: Sequence[Version], verdict: Verdict) -> None:
    reserved = reserved_fields(proposal.content.metadata)
    before = reserved_fields(earlier[-1].content.metadata) if earlier else set()
    wrong = [
        (
            "RESERVED_FIELD_REMOVED",
            name,
            f"The new schema has reserved field {name} removed from its metadata which is "
            "present in the old schema's metadata.",
        )
        for name in sorted(before - reserved)
    ]
    wrong += [
        (
            "FIELD_CONFLICTS_WITH_RESERVED_FIELD",
            name,
            f"The new schema has field that conflicts with the reserved field {name}.",
        )
        for name in sorted(reserved & top_level_fields(proposal.parsed))
    ]
    for kind, name, description in wrong:
        verdict.messages.append(f"{{errorType:'{kind}', description:'{description}'}}")
        verdict.problems.append(Problem(rule=kind, path=f"/{name}", description=description))


def check_compatibility(
    state: RegistryState,
    subject: str,
    version: str | None,
    request: RegisterSchemaRequest,
    *,
    normalize: bool = False,
    verbose: bool = False,
) -> CompatibilityCheckResponse:
    """`POST /compatibility/subjects/{s}/versions[/{v}]`.

    Without a version the schema is checked against all that the level demands. A subject that does
    not exist is compatible with everything.
    """
    subject = aliased(state, checked(subject))
    earlier = [each for each in state.versions.of(subject) if not each.is_deleted]
    if version is not None:
        number = parsed_version(version)
        if number == LATEST:
            earlier = earlier[-1:]
        else:
            earlier = [each for each in earlier if each.version == number]
            if not earlier:
                raise errors.version_not_found(number)
    config = config_in_scope(state, subject)
    proposal = read_proposal(state, subject, request, config, is_new=True, normalize=normalize)
    verdict = judge(state, config, subject, proposal, earlier)
    is_compatible = not verdict.messages
    if not verbose:
        return CompatibilityCheckResponse(is_compatible)
    return CompatibilityCheckResponse(is_compatible, verdict.messages, verdict.problems or None)
