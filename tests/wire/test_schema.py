"""Declarations: what they make, and what they refuse."""

from __future__ import annotations

import dataclasses

import pytest

from headrace.wire.schema import fields_of, info, struct, v
from headrace.wire.types import Int32
from tests.wire.samples import EverythingRequest, Inner, SmallResponse


@struct
class Forgetful:
    """A field that is not everywhere, without a default."""

    late: Int32 = v(3)


@struct
class Untranslatable:
    """A type that the wire does not have."""

    number: complex


def test_messages_are_slotted_dataclasses() -> None:
    """Keyword-only, comparable, changeable, and closed to misspelt fields."""
    message = SmallResponse(error_code=5)
    message.error_code = 6
    assert message == SmallResponse(error_code=6)
    assert repr(Inner(number=3)) == "Inner(label='', number=3, since_two=-1)"
    assert dataclasses.is_dataclass(message)
    with pytest.raises(AttributeError):
        message.eror_code = 7  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        SmallResponse(5)  # type: ignore[call-arg]


def test_the_first_message_is_made_like_all_others() -> None:
    """`__init__` is compiled with it: every field by its name, and no list belongs to two."""

    @struct
    class Fresh:
        number: Int32
        items: list[Int32] = v(1, default=[])
        text: str = v(1, default="none")

    with pytest.raises(TypeError, match=r"Fresh\.__init__\(\) missing .* 'number'"):
        Fresh()  # type: ignore[call-arg]
    first, second = Fresh(number=1), Fresh(number=1)
    assert (first.number, first.items, first.text) == (1, [], "none")
    first.items.append(2)
    assert second.items == []
    assert Fresh(number=1, items=[2], text="none") == first
    with pytest.raises(TypeError, match="nmber"):
        Fresh(number=1, nmber=2)  # type: ignore[call-arg]


def test_declared_facts() -> None:
    """Key, versions and flexibility are kept on the class."""
    declared = info(EverythingRequest)
    assert (declared.key, declared.versions, declared.flexible) == (1000, range(4), 2)
    assert (declared.name, declared.is_request) == ("EverythingRequest", True)
    assert not info(SmallResponse).is_request


def test_fields_stand_in_the_order_of_the_wire() -> None:
    """Declaration order is wire order; the slot for unknown tags is not a field."""
    names = [field.name for field in fields_of(SmallResponse)]
    assert names == ["error_code", "message", "inners", "records"]


def test_a_field_of_some_versions_needs_a_default() -> None:
    """A reader of the other versions must find something."""
    with pytest.raises(TypeError, match=r"Forgetful\.late is not in every version"):
        fields_of(Forgetful)


def test_types_without_a_wire_form_are_refused() -> None:
    """The error says where the types are."""
    with pytest.raises(TypeError, match=r"headrace\.wire\.types"):
        fields_of(Untranslatable)
