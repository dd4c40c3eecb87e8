"""`/dek-registry/v1…` over a real socket."""

from __future__ import annotations

import pytest

from tests.registry.running import RunningRegistry

KEKS = "/dek-registry/v1/keks"


@pytest.fixture
def kek(registry: RunningRegistry, subject: str) -> str:
    """A key-encryption key; returns its path."""
    name = subject.replace("-", "_")
    body = {"name": name, "kmsType": "local-kms", "kmsKeyId": "k1", "shared": False}
    answer = registry.call("POST", KEKS, body)
    assert answer.status == 200, answer.raw
    return f"{KEKS}/{name}"


def test_life_of_a_kek(registry: RunningRegistry, kek: str) -> None:
    """Listed, read, changed, deleted softly, restored, deleted for good."""
    name = kek.rpartition("/")[2]
    assert name in registry.call("GET", KEKS).body
    assert registry.call("GET", f"{KEKS}?subjectPrefix={name}").body == [], "it has no DEK"
    assert registry.call("GET", kek).body["kmsType"] == "local-kms"
    assert registry.call("PUT", kek, {"doc": "why"}).body["doc"] == "why"
    assert registry.call("DELETE", f"{kek}?permanent=true").code == 40471
    assert registry.call("DELETE", kek).status == 204
    assert registry.call("GET", kek).code == 40470
    assert registry.call("GET", f"{kek}?deleted=true").status == 200
    assert registry.call("POST", f"{kek}/undelete").status == 204
    assert registry.call("GET", kek).status == 200
    registry.call("DELETE", kek)
    assert registry.call("DELETE", f"{kek}?permanent=true").status == 204
    assert registry.call("GET", f"{kek}?deleted=true").code == 40470


def test_refusals_of_keks(registry: RunningRegistry, kek: str) -> None:
    """40971 for a key of the name, 42271 for what is no key, 40470 for unknown ones."""
    name = kek.rpartition("/")[2]
    same = {"name": name, "kmsType": "local-kms", "kmsKeyId": "k1", "shared": False}
    assert registry.call("POST", KEKS, same).code == 40971
    other = {"name": name, "kmsType": "local-kms", "kmsKeyId": "k2"}
    assert registry.call("POST", KEKS, other).code == 40971
    assert registry.call("POST", KEKS, {"name": "1 x"}).code == 42271
    assert registry.call("PUT", f"{KEKS}/none", {"doc": ""}).code == 40470
    assert registry.call("POST", f"{KEKS}/none/undelete").code == 40470
    assert registry.call("POST", f"{kek}/test").code == 42271
    assert registry.call("POST", f"{KEKS}/none/test").code == 40470


def test_life_of_a_dek(registry: RunningRegistry, kek: str, subject: str) -> None:
    """Created with its encrypted material, by versions and algorithm; it holds its KEK (42272)."""
    body = {"subject": subject, "algorithm": "AES256_SIV", "encryptedKeyMaterial": "AAAA"}
    created = registry.call("POST", f"{kek}/deks", body)
    assert (created.status, created.body["version"]) == (200, 1)
    second = {"version": 2, "algorithm": "AES256_SIV", "encryptedKeyMaterial": "BBBB"}
    path = f"{kek}/deks/{subject}"
    assert registry.call("POST", path, second).body["version"] == 2
    assert registry.call("POST", path, {**second, "subject": "other"}).code == 42271
    assert registry.call("POST", path, second).code == 40971
    assert registry.call("GET", f"{kek}/deks").body == [subject]
    assert kek.rpartition("/")[2] in registry.call("GET", f"{KEKS}?subjectPrefix={subject}").body
    chosen = "?algorithm=AES256_SIV"
    assert registry.call("GET", path + chosen).body["encryptedKeyMaterial"] == "AAAA"
    assert registry.call("GET", f"{path}/versions{chosen}").body == [1, 2]
    assert registry.call("GET", f"{path}/versions/2{chosen}").body["version"] == 2
    assert registry.call("GET", f"{path}/versions/x{chosen}").code == 42202
    assert registry.call("GET", path).code == 40470
    assert registry.call("GET", f"{path}?algorithm=ROT13").code == 42271
    assert registry.call("DELETE", kek).code == 42272
    assert registry.call("DELETE", f"{path}/versions/2{chosen}").status == 204
    assert registry.call("POST", f"{path}/versions/2/undelete{chosen}").status == 204
    assert registry.call("DELETE", path + chosen).status == 204
    assert registry.call("GET", path + chosen).code == 40470
    assert registry.call("POST", f"{path}/undelete{chosen}").status == 204
    assert registry.call("DELETE", f"{path}{chosen}&permanent=true").code == 40471
