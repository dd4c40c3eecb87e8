"""`headrace quota` against a live broker."""

from __future__ import annotations

import json
import uuid

from tests.cli.conftest import Headrace


def fresh() -> str:
    return f"client-{uuid.uuid4().hex[:12]}"


def listed(live: Headrace, *words: str) -> list[dict[str, object]]:
    outcome = live("quota", "list", *words, "--output", "json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert isinstance(found, list)
    return found


def test_quotas_are_set_listed_and_deleted(live: Headrace) -> None:
    """One after the other, then all that are left; a table for a person."""
    name = fresh()
    done = live("quota", "set", "--client-id", name, "producer_byte_rate=1024", "-o", "json")
    assert done.code == 0, done.err
    live("quota", "set", "--client-id", name, "request_percentage=12.5", "consumer_byte_rate=9")
    shown = live("quota", "list", "--client-id", name).out.splitlines()
    assert shown[0].split() == ["USER", "CLIENT-ID", "IP", "QUOTA", "VALUE"]
    assert [line.split() for line in shown[1:]] == [
        ["-", name, "-", "producer_byte_rate", "1024"],
        ["-", name, "-", "request_percentage", "12.5"],
        ["-", name, "-", "consumer_byte_rate", "9"],
    ]
    assert live("quota", "delete", "--client-id", name, "producer_byte_rate").code == 0
    assert {row["quota"] for row in listed(live, "--client-id", name)} == {
        "request_percentage",
        "consumer_byte_rate",
    }
    assert live("quota", "delete", "--client-id", name).code == 0
    assert listed(live, "--client-id", name) == []


def test_defaults_and_pairs_are_entities_of_their_own(live: Headrace) -> None:
    """A user with any client id is not the user, nor any user."""
    user = fresh()
    live("quota", "set", "--user", user, "--client-defaults", "producer_byte_rate=5")
    live("quota", "set", "--user", user, "producer_byte_rate=6")
    expected = [(user, None, 6), (user, "<default>", 5)]
    rows = listed(live, "--user", user)
    assert [(row["user"], row["client_id"], row["value"]) for row in rows] == expected
    assert live("quota", "delete", "--user", user).code == 0
    assert [row["value"] for row in listed(live, "--user", user)] == [5]
    assert live("quota", "delete", "--user", user, "--client-defaults").code == 0
    assert listed(live, "--user", user) == []


def test_what_makes_no_sense_is_told_in_one_line(live: Headrace) -> None:
    """Wrong usage is 2, a refusal of the broker is 1; both name the remedy or the reason."""
    for words, code, complaint in [
        (["set", "producer_byte_rate=5"], 2, "no user, client id or address is named"),
        (["set", "--user", "u", "producer_rate=5"], 2, 'did you mean "producer_byte_rate"'),
        (["set", "--user", "u", "producer_byte_rate=fast"], 2, "is not a number"),
        (["set", "--user", "u", "--user-defaults", "producer_byte_rate=5"], 2, "both given"),
        (["set", "--user", "u", "--ip", "::1", "producer_byte_rate=5"], 2, "of its own"),
        (["set", "--user", "u", "producer_byte_rate=0"], 1, "must be greater than 0"),
        (["set", "--ip", "127.0.0.1", "producer_byte_rate=5"], 1, "Invalid configuration key"),
        (["delete", "--user", fresh()], 1, "has no such quota"),
    ]:
        outcome = live("quota", *words)
        assert (outcome.code, outcome.out) == (code, ""), words
        assert complaint in outcome.err
        assert outcome.err.count("\n") == 1
