"""The versions of subjects, found by subject, by id, by content and by who refers to them.

These indexes are all derived from the records; nothing here knows a record's form, or whether a
change is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from headrace.registry.contents import Content
from headrace.registry.subjects import beside, context_of


class Version(msgspec.Struct, eq=False, gc=False):
    """One version of one subject.

    There can be very many, and none is part of a cycle, so the garbage collector need not know.
    """

    subject: str
    version: int
    id: int
    content: Content
    is_deleted: bool
    ts_ms: int


@dataclass(slots=True)
class Context:
    """The ids of one context."""

    # Whether the topic says that the context exists; the default one exists without that.
    is_recorded: bool = False
    by_id: dict[int, list[Version]] = field(default_factory=dict)
    # Several ids for one content are rare: only an import can bring that about.
    ids_by_content: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    max_id: int = 0


class Versions:
    """All versions with their indexes."""

    def __init__(self) -> None:
        self.contexts: dict[str, Context] = {".": Context(is_recorded=True)}
        self._subjects: dict[str, dict[int, Version]] = {}
        self._referers: dict[tuple[str, int], list[Version]] = {}
        # Listings are asked for far more often than they change.
        self._sorted: list[str] | None = None
        self._sorted_living: list[str] | None = None

    # -- reading -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Version]:
        for versions in self._subjects.values():
            yield from versions.values()

    def subjects(self, *, deleted: bool = True) -> list[str]:
        """All subjects, sorted, with or without those whose versions are all deleted softly."""
        if self._sorted is None:
            self._sorted = sorted(self._subjects)
        if deleted:
            return self._sorted
        if self._sorted_living is None:
            self._sorted_living = [each for each in self._sorted if self.has(each)]
        return self._sorted_living

    def get(self, subject: str, version: int) -> Version | None:
        """One version, deleted or not."""
        return self._subjects.get(subject, {}).get(version)

    def of(self, subject: str) -> list[Version]:
        """The versions of a subject, oldest first, with those that are deleted softly."""
        versions = self._subjects.get(subject)
        return [] if versions is None else [versions[number] for number in sorted(versions)]

    def latest(self, subject: str) -> Version | None:
        """The newest version that is not deleted."""
        living = [each for each in self._subjects.get(subject, {}).values() if not each.is_deleted]
        return max(living, key=lambda each: each.version, default=None)

    def has(self, subject: str, *, deleted: bool = False) -> bool:
        """Whether a subject has versions."""
        versions = self._subjects.get(subject)
        if versions is None:
            return False
        return deleted or not all(each.is_deleted for each in versions.values())

    def by_id(self, context: str, schema_id: int) -> list[Version]:
        """All versions with this id."""
        index = self.contexts.get(context)
        return [] if index is None else index.by_id.get(schema_id, [])

    def with_id(self, subject: str, schema_id: int) -> Version | None:
        """The newest version of a subject that has this id."""
        versions = self._subjects.get(subject, {}).values()
        same_id = [each for each in versions if each.id == schema_id]
        return max(same_id, key=lambda each: each.version, default=None)

    def id_of(self, context: str, key: bytes) -> int | None:
        """The id of a content; if an import gave it several, the smallest."""
        index = self.contexts.get(context)
        ids = None if index is None else index.ids_by_content.get(key)
        return ids[0] if ids else None

    def with_content(self, subject: str, key: bytes) -> list[Version]:
        """The versions of a subject that have this content."""
        index = self.contexts.get(context_of(subject))
        ids = () if index is None else index.ids_by_content.get(key, ())
        versions = self._subjects.get(subject, {}) if ids else {}
        return [each for each in versions.values() if each.content.key == key]

    def referers(self, subject: str, version: int) -> list[Version]:
        """The versions, not deleted, that refer to this one."""
        return [each for each in self._referers.get((subject, version), ()) if not each.is_deleted]

    def max_id(self, context: str) -> int:
        """The highest id that was ever given out in a context."""
        index = self.contexts.get(context)
        return 0 if index is None else index.max_id

    def context_is_recorded(self, context: str) -> bool:
        """Whether the topic says that a context exists."""
        index = self.contexts.get(context)
        return index is not None and index.is_recorded

    # -- replaying -----------------------------------------------------------------------------

    def put(self, version: Version) -> None:
        """Add or replace a version."""
        subject = version.subject
        versions = self._subjects.get(subject)
        if versions is None:
            versions = self._subjects[subject] = {}
            self._sorted = None
        elif version.version in versions:
            self.remove(subject, version.version)
            versions = self._subjects.setdefault(subject, versions)
        self._sorted_living = None
        versions[version.version] = version
        index = self.context(context_of(subject))
        if version.id > index.max_id:
            index.max_id = version.id
        same_id = index.by_id.get(version.id)
        if same_id is None:
            index.by_id[version.id] = [version]
        else:
            version.content = _shared(version.content, same_id)
            same_id.append(version)
        key = version.content.key
        ids = index.ids_by_content.get(key, ())
        if version.id not in ids:
            index.ids_by_content[key] = tuple(sorted((*ids, version.id)))
        if version.content.references:
            for referred in _referred(version):
                self._referers.setdefault(referred, []).append(version)

    def mark_deleted(self, version: Version) -> None:
        """A version is deleted softly."""
        version.is_deleted = True
        self._sorted_living = None

    def remove(self, subject: str, number: int) -> None:
        """Forget a version altogether; the id stays used."""
        version = self._subjects.get(subject, {}).pop(number, None)
        if version is None:
            return
        if not self._subjects[subject]:
            del self._subjects[subject]
            self._sorted = None
        self._sorted_living = None
        index = self.contexts[context_of(subject)]
        same_id = index.by_id[version.id]
        same_id.remove(version)
        if not same_id:
            del index.by_id[version.id]
        key = version.content.key
        if not any(each.content.key == key for each in same_id):
            ids = tuple(each for each in index.ids_by_content[key] if each != version.id)
            if ids:
                index.ids_by_content[key] = ids
            else:
                del index.ids_by_content[key]
        for referred in _referred(version):
            referers = self._referers[referred]
            referers.remove(version)
            if not referers:
                del self._referers[referred]

    def context(self, name: str) -> Context:
        """The context of this name, which is made if it does not exist."""
        index = self.contexts.get(name)
        if index is None:
            index = self.contexts[name] = Context()
        return index


def _shared(content: Content, versions: list[Version]) -> Content:
    """The same content as an object that is there already, so that its text is kept once."""
    first = versions[0].content
    return first if first.key == content.key else content


def _referred(version: Version) -> set[tuple[str, int]]:
    """What a version refers to; the same thing twice counts once."""
    return {
        (beside(version.subject, reference.subject), reference.version)
        for reference in version.content.references
    }
