"""Associations of resources with subjects."""

from __future__ import annotations

import pytest

from headrace.registry.associations import (
    create_associations,
    delete_associations,
    list_by_resource,
    list_by_subject,
)
from headrace.registry.entities import (
    AssociationInfo,
    AssociationRequest,
    AssociationResponse,
    RegisterSchemaRequest,
)
from headrace.registry.errors import RegistryError
from headrace.registry.lists import list_schemas, list_subjects

from .journal import USER, USER_WITH_NAME, Journal


def associate(
    journal: Journal, *infos: AssociationInfo, name: str = "orders", update: bool = False
) -> AssociationResponse:
    request = AssociationRequest(name, "lkc-1", f"id-{name}", None, list(infos))
    return journal.do(create_associations(journal.state, request, update=update))


def with_schema(text: str, kind: str = "value") -> AssociationInfo:
    return AssociationInfo(
        association_type=kind, lifecycle="STRONG", schema=RegisterSchemaRequest(schema=text)
    )


@pytest.mark.spec("slides:G03")
def test_a_topic_brings_its_schemas_along() -> None:
    """Key and value are registered under subjects of their own, with an id each."""
    journal = Journal()
    reply = associate(journal, with_schema('"string"', "key"), with_schema(USER))
    assert list_subjects(journal.state) == ["orders-key", "orders-value"]
    assert [each.schema.id for each in reply.associations or () if each.schema] == [1, 2]
    same = associate(journal, with_schema('"long"', "key"), with_schema('"long"'), name="t")
    assert [each.schema.id for each in same.associations or () if each.schema] == [3, 3]


def test_the_same_association_again_changes_nothing() -> None:
    """A request can be repeated."""
    journal = Journal()
    first = associate(journal, with_schema(USER))
    assert associate(journal, with_schema(USER)) == first


def test_an_association_is_changed_only_by_an_update() -> None:
    """POST makes, PUT changes."""
    journal = Journal()
    journal.register("a")
    associate(journal, AssociationInfo("a", "value", "STRONG"))
    with pytest.raises(RegistryError) as refused:
        associate(journal, AssociationInfo("a", "value", "WEAK"))
    assert refused.value.error_code == 40903
    associate(journal, AssociationInfo("a", "value", "WEAK"), update=True)
    (found,) = list_by_subject(journal.state, "a")
    assert found.lifecycle == "WEAK"
    associate(journal, AssociationInfo("a", "value", "WEAK"), name="other")
    assert len(list_by_subject(journal.state, "a")) == 2


def test_nothing_is_written_in_a_dry_run() -> None:
    """It only says whether it would work."""
    journal = Journal()
    request = AssociationRequest("t", "ns", "id", "topic", [with_schema(USER)])
    assert create_associations(journal.state, request, dry_run=True).writes == ()


def test_associations_are_listed_by_subject_and_by_resource() -> None:
    """With filters; a namespace of - is any."""
    journal = Journal()
    associate(journal, with_schema('"string"', "key"), with_schema(USER))
    state = journal.state
    assert [each.subject for each in list_by_resource(state, resource_id="id-orders")] == [
        "orders-key",
        "orders-value",
    ]
    by_name = list_by_resource(state, namespace="-", name="orders", association_types=["key"])
    assert [each.resource_namespace for each in by_name] == ["lkc-1"]
    assert list_by_resource(state, namespace="other", name="orders") == []
    assert list_by_subject(state, "orders-key", lifecycle="weak") == []
    assert list_by_subject(state, "orders-key", resource_type="topic", limit=1)[0].guid
    listed = list_schemas(state, association_types=["value"])
    assert [each.subject for each in listed] == ["orders-value"]


def test_a_subject_goes_with_its_owner_if_that_is_asked_for() -> None:
    """Else it stays, and is free."""
    journal = Journal()
    associate(journal, with_schema(USER))
    associate(journal, with_schema(USER_WITH_NAME), name="other")
    journal.do(delete_associations(journal.state, "id-orders"))
    journal.do(delete_associations(journal.state, "id-other", cascade_lifecycle=True))
    assert list_subjects(journal.state) == ["orders-value"]
    assert list(journal.state.associations) == []


def test_a_frozen_association_takes_no_new_schema() -> None:
    """Its resource has what it has."""
    journal = Journal()
    frozen = AssociationInfo(
        association_type="value", frozen=True, schema=RegisterSchemaRequest(schema=USER)
    )
    associate(journal, frozen)
    with pytest.raises(RegistryError) as refused:
        associate(journal, with_schema(USER_WITH_NAME), update=True)
    assert refused.value.error_code == 40906
