"""Every change of which Confluent's verdict is known, in both policies and all drafts."""

from __future__ import annotations

import json

import pytest

from headrace.schemas.json_schema import incompatibilities, parse
from headrace.schemas.json_schema.compatibility.kinds import SAFE_IF_LENIENT
from tests.schemas.json_schema.vectors_of_confluent import CHANGES, FORGIVEN, Change, spelled


def broken(change: Change, draft: str, *, lenient: bool) -> tuple[str, ...]:
    old, new = (parse(json.dumps(spelled(each, draft))) for each in (change.old, change.new))
    found = incompatibilities(new, old, lenient=lenient)
    return tuple(f"{each.kind} {each.path}" for each in found)


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_is_judged_as_confluent_judges_it(change: Change, *, lenient: bool) -> None:
    """In each draft the same kinds at the same paths, or an exception that the table names."""
    expected = change.expected(lenient=lenient)
    answers = {draft: broken(change, draft, lenient=lenient) for draft in change.drafts}
    assert answers == dict.fromkeys(change.drafts, expected)


def test_the_lenient_policy_forgives_what_confluent_forgives() -> None:
    """One set of kinds; PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL is deprecated and never reported."""
    assert SAFE_IF_LENIENT == FORGIVEN


def test_the_exceptions_are_few_and_stricter() -> None:
    """In none of these changes Headrace accepts what Confluent rejects."""
    exceptions = [change for change in CHANGES if change.ours is not None]
    assert [change.name for change in exceptions] == [
        "a property that is not declared becomes required in place of one that is"
    ]
    assert not any(change.broken for change in exceptions)
