"""Who becomes the primary, and in which words the members are told."""

from __future__ import annotations

import json

import msgspec
import pytest

from headrace.http.listeners import Listener
from headrace.registry.election import Identity, choose, identity_of
from headrace.registry.settings import registry_settings


def metadata(host: str, *, eligible: bool = True, leader: bool = False, port: int = 8081) -> bytes:
    return msgspec.json.encode(Identity(1, host, port, eligible, "http", leader))


def test_the_least_address_among_the_eligible() -> None:
    """Whatever the order of the members."""
    members = {"m1": metadata("c"), "m2": metadata("b"), "m3": metadata("a", eligible=False)}
    for order in (list(members), list(reversed(members))):
        decision = choose({name: members[name] for name in order}, sticky=True)
        assert decision.master == "m2"
        assert decision.master_identity is not None
        assert decision.master_identity.url == "http://b:8081"


def test_the_incumbent_stays() -> None:
    """One that is the primary already keeps it, unless two say so or that is switched off."""
    members = {"m1": metadata("c", leader=True), "m2": metadata("a")}
    assert choose(members, sticky=True).master == "m1"
    assert choose(members, sticky=False).master == "m2"
    both = {"m1": metadata("c", leader=True), "m2": metadata("a", leader=True)}
    assert choose(both, sticky=True).master == "m2"
    gone = {"m1": metadata("c", leader=True, eligible=False), "m2": metadata("a")}
    assert choose(gone, sticky=True).master == "m2"


def test_nobody_is_eligible() -> None:
    """Then there is no primary, and that is what everybody hears."""
    decision = choose({"m1": metadata("a", eligible=False)}, sticky=True)
    assert (decision.master, decision.master_identity) == (None, None)


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"host":1}', b"\xff"])
def test_metadata_that_cannot_be_read(broken: bytes) -> None:
    """Such a member is passed over."""
    assert choose({"m1": broken, "m2": metadata("b")}, sticky=True).master == "m2"
    assert choose({"m1": broken}, sticky=True).master is None


def test_two_with_one_address_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """Error 1, as Confluent's protocol has it, and a remedy in the log."""
    decision = choose({"m1": metadata("a"), "m2": metadata("a")}, sticky=True)
    assert decision.error == 1
    assert "host.name" in caplog.text


def test_the_formats_are_confluents() -> None:
    """Their instances read ours and we read theirs, also those of older versions."""
    settings, _ = registry_settings({"leader.eligibility": "false"})
    identity = identity_of(settings, Listener("https", "h", 1))
    assert json.loads(msgspec.json.encode(identity)) == {
        "version": 1,
        "host": "h",
        "port": 1,
        "master_eligibility": False,
        "scheme": "https",
        "leader": False,
    }
    theirs = b'{"host":"h","port":8081,"master_eligibility":true,"scheme":"http","version":1}'
    decision = choose({"m": theirs}, sticky=True)
    encoded = json.loads(msgspec.json.encode(decision))
    assert (encoded["version"], encoded["error"], encoded["master"]) == (1, 0, "m")
    assert encoded["master_identity"]["host"] == "h"
