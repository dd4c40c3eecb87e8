"""Which resource, such as a topic, uses which subject: the associations as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.errors import CorruptData
from headrace.registry.topic_records import AssociationValue, Key

AssociationKey = tuple[str, str, str, str]
"""Name, namespace and type of the resource, and the type of the association."""


class AssociationTable:
    """All associations."""

    def __init__(self) -> None:
        self._associations: dict[AssociationKey, AssociationValue] = {}

    def __iter__(self) -> Iterator[AssociationValue]:
        return iter(self._associations.values())

    def __len__(self) -> int:
        return len(self._associations)

    def put(self, value: AssociationValue) -> None:
        """Add or replace an association."""
        if not value.subject or not value.resource_name:
            raise CorruptData("an association names no subject or no resource")
        self._associations[key_of(value)] = value

    def remove(self, key: Key) -> None:
        """Forget an association."""
        self._associations.pop(key_of(key), None)

    def get(self, key: AssociationKey) -> AssociationValue | None:
        """One association."""
        return self._associations.get(key)

    def of_subject(self, subject: str) -> list[AssociationValue]:
        """The associations with one subject."""
        return [each for each in self if each.subject == subject]

    def of_resource_id(self, resource_id: str) -> list[AssociationValue]:
        """The associations of one resource."""
        return [each for each in self if each.resource_id == resource_id]

    def subjects(
        self,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        lifecycle: str | None = None,
    ) -> set[str]:
        """The subjects that have an association of a kind."""
        return {
            each.subject or ""
            for each in self
            if (not resource_type or each.resource_type == resource_type)
            and (not association_types or each.association_type in association_types)
            and (not lifecycle or each.lifecycle == lifecycle.upper())
        }


def key_of(each: AssociationValue | Key) -> AssociationKey:
    """What makes an association one."""
    return (
        each.resource_name or "",
        each.resource_namespace or "",
        each.resource_type or "",
        each.association_type or "",
    )
