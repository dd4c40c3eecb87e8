"""`/config…`, `/mode…`, `/contexts…`, `/compatibility…`, `/v1/metadata…` and `/`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.registry.running import RunningRegistry

V1 = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'}
BROKEN = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'}


@pytest.fixture
def as_before(registry: RunningRegistry) -> Iterator[None]:
    """The global settings are put back."""
    yield
    registry.call("DELETE", "/mode?recursive=true")
    registry.call("DELETE", "/config")


@pytest.mark.spec("slides:G20", "slides:G21", "slides:G08", "book2:E-06")
@pytest.mark.usefixtures("as_before")
def test_global_config(registry: RunningRegistry) -> None:
    """GET says `compatibilityLevel`, PUT `compatibility`; lower case is taken; DELETE resets."""
    assert registry.call("GET", "/config").body == {"compatibilityLevel": "BACKWARD"}
    answer = registry.call("PUT", "/config", {"compatibility": "none"})
    assert (answer.status, answer.body) == (200, {"compatibility": "NONE"})
    assert registry.call("GET", "/config").body == {"compatibilityLevel": "NONE"}
    assert registry.call("DELETE", "/config").body == {"compatibilityLevel": "NONE"}
    assert registry.call("GET", "/config").body == {"compatibilityLevel": "BACKWARD"}


@pytest.mark.spec("slides:G20")
def test_config_of_a_subject(registry: RunningRegistry, subject: str) -> None:
    """40408 until it is set, unless `defaultToGlobal=true`; DELETE answers the old settings."""
    path = f"/config/{subject}"
    assert registry.call("GET", path).code == 40408
    assert registry.call("GET", f"{path}?defaultToGlobal=true").body["compatibilityLevel"]
    assert registry.call("DELETE", path).code == 40401
    body = {"compatibility": "FULL", "normalize": True, "compatibilityGroup": "g", "alias": "x"}
    assert registry.call("PUT", path, body).body == body
    found = registry.call("GET", path).body
    assert (found["compatibilityLevel"], found["normalize"]) == ("FULL", True)
    assert registry.call("DELETE", path).body["compatibilityLevel"] == "FULL"


def test_config_refusals(registry: RunningRegistry, subject: str) -> None:
    """42203 for a level that is none, 42208 for a subject that is none."""
    assert registry.call("PUT", "/config", {"compatibility": "x"}).code == 42203
    assert registry.call("PUT", f"/config/{subject}", {"compatibility": ""}).code == 42203
    assert registry.call("PUT", "/config/__GLOBAL", {"compatibility": "FULL"}).code == 42208
    assert registry.call("PUT", f"/config/{subject}", {"compatibilityPolicy": "x"}).code == 42203


@pytest.mark.usefixtures("as_before")
def test_modes(registry: RunningRegistry, subject: str) -> None:
    """READONLY refuses writes with 42205; a subject's own mode comes before the global one."""
    assert registry.call("GET", "/mode").body == {"mode": "READWRITE"}
    assert registry.call("GET", f"/mode/{subject}").code == 40409
    assert registry.call("GET", f"/mode/{subject}?defaultToGlobal=true").body["mode"]
    assert registry.call("DELETE", f"/mode/{subject}").code == 40401
    assert registry.call("PUT", "/mode", {"mode": "x"}).code == 42204
    assert registry.call("PUT", f"/mode/{subject}", {"mode": "READONLY"}).body == {
        "mode": "READONLY"
    }
    assert registry.call("POST", f"/subjects/{subject}/versions", V1).code == 42205
    assert registry.call("DELETE", f"/mode/{subject}").body == {"mode": "READONLY"}
    assert registry.call("PUT", "/mode", {"mode": "READONLY_OVERRIDE"}).status == 200
    assert registry.call("POST", f"/subjects/{subject}/versions", V1).code == 42205
    assert registry.call("DELETE", "/mode").status == 200


def test_import_needs_an_empty_scope_or_force(registry: RunningRegistry, subject: str) -> None:
    """42205 while the subject has schemas; `force=true` allows it."""
    registry.call("POST", f"/subjects/{subject}/versions", V1)
    assert registry.call("PUT", f"/mode/{subject}", {"mode": "IMPORT"}).code == 42205
    assert registry.call("PUT", f"/mode/{subject}?force=true", {"mode": "IMPORT"}).status == 200


def test_contexts(registry: RunningRegistry, subject: str) -> None:
    """A context has its own ids; below `/contexts/.c/` only it is there; it goes when empty."""
    context = f".c{subject[2:]}"
    base = f"/contexts/{context}"
    answer = registry.call("POST", f"{base}/subjects/{subject}/versions", V1)
    assert answer.body["id"] == 1
    assert context in registry.call("GET", "/contexts").body
    assert registry.call("GET", f"/contexts?contextPrefix={context}").body == [context]
    full = f":{context}:{subject}"
    assert registry.call("GET", f"{base}/subjects").body == [full]
    assert registry.call("GET", f"/subjects/:{context}:{subject}/versions").body == [1]
    assert registry.call("GET", f"{base}/subjects/{subject}/versions/1").body["subject"] == full
    assert registry.call("GET", f"{base}/schemas/ids/1").body["schema"] == V1["schema"]
    assert registry.call("GET", f"{base}/schemas/ids/1/versions").body[0]["subject"] == full
    assert len(registry.call("GET", f"{base}/schemas").body) == 1
    assert registry.call("PUT", f"{base}/config", {"compatibility": "NONE"}).status == 200
    assert registry.call("GET", f"{base}/config").body["compatibilityLevel"] == "NONE"
    assert registry.call("GET", f"/config/:{context}:").body["compatibilityLevel"] == "NONE"
    assert registry.call("PUT", f"{base}/mode/{subject}", {"mode": "READWRITE"}).status == 200
    assert (
        registry.call("POST", f"{base}/compatibility/subjects/{subject}/versions", V1).status == 200
    )
    assert registry.call("DELETE", base).code == 42211
    registry.call("DELETE", f"{base}/subjects/{subject}")
    registry.call("DELETE", f"{base}/subjects/{subject}?permanent=true")
    gone = registry.call("DELETE", base)
    assert (gone.status, gone.raw) == (204, b"")
    assert context not in registry.call("GET", "/contexts").body


def test_contexts_have_a_default(registry: RunningRegistry, subject: str) -> None:
    """`/contexts/.` is the registry without a prefix, and cannot be deleted."""
    registry.call("POST", f"/contexts/./subjects/{subject}/versions", V1)
    assert registry.call("GET", f"/subjects/{subject}/versions").body == [1]
    assert registry.call("DELETE", "/contexts/.").code == 42205


@pytest.mark.spec("slides:G19", "slides:G33", "slides:G09")
def test_compatibility(registry: RunningRegistry, subject: str) -> None:
    """Whether a schema fits one version or all that the level demands, and with verbose why not."""
    registry.call("POST", f"/subjects/{subject}/versions", V1)
    path = f"/compatibility/subjects/{subject}/versions"
    assert registry.call("POST", f"{path}/latest", V1).body == {"is_compatible": True}
    assert registry.call("POST", f"{path}/1", BROKEN).body == {"is_compatible": False}
    assert registry.call("POST", path, BROKEN).body == {"is_compatible": False}
    verbose = registry.call("POST", f"{path}/latest?verbose=true", BROKEN).body
    assert verbose["is_compatible"] is False
    assert any("TYPE_MISMATCH" in message for message in verbose["messages"])
    verbose = registry.call("POST", f"{path}/latest?verbose=true", V1).body
    assert verbose == {"is_compatible": True, "messages": []}
    assert registry.call("POST", f"{path}/9", V1).code == 40402
    assert registry.call("POST", f"{path}/x", V1).code == 42202
    assert registry.call("POST", f"{path}/1", {"schema": "x"}).code == 42201
    assert registry.call("POST", path, {"schema": "x"}).code == 42201


@pytest.mark.spec("slides:G10", "slides:G11", "book2:E-12")
def test_levels_decide(registry: RunningRegistry, subject: str) -> None:
    """A new field needs a default to be backward compatible; NONE takes everything."""
    registry.call("POST", f"/subjects/{subject}/versions", V1)
    fields = '[{"name":"a","type":"int"},{"name":"b","type":"int"%s}]'
    schema = '{"type":"record","name":"R","fields":' + fields + "}"
    without, with_default = {"schema": schema % ""}, {"schema": schema % ',"default":0'}
    path = f"/compatibility/subjects/{subject}/versions/latest"
    assert registry.call("POST", path, without).body["is_compatible"] is False
    assert registry.call("POST", path, with_default).body["is_compatible"] is True
    for level, is_compatible in (("FORWARD", True), ("FULL", False), ("NONE", True)):
        registry.call("PUT", f"/config/{subject}", {"compatibility": level})
        assert registry.call("POST", path, without).body["is_compatible"] is is_compatible, level


def test_root_and_server_metadata(registry: RunningRegistry) -> None:
    """`/` answers an empty object; the metadata names clusters and version."""
    assert registry.call("GET", "/").body == registry.call("POST", "/", {}).body == {}
    clusters = registry.call("GET", "/v1/metadata/id").body["scope"]["clusters"]
    assert clusters["schema-registry-cluster"] == "schema-registry"
    assert clusters["kafka-cluster"]
    assert set(registry.call("GET", "/v1/metadata/version").body) == {"version", "commitId"}
    assert registry.call("GET", "/v1/metadata/deployment").body == {"attributes": []}


def test_health_and_metrics(registry: RunningRegistry) -> None:
    """`/healthz` says whether it is well and the primary; `/metrics` counts by route template."""
    assert registry.call("GET", "/healthz").body == {"status": "ok", "primary": True}
    registry.call("GET", "/subjects/some-name/versions")
    text = registry.call("GET", "/metrics").raw.decode()
    assert 'route="/subjects/{subject}/versions",method="GET",status="404"' in text
    assert "some-name" not in text
    assert "\nschema_registry_primary 1\n" in text


def test_the_global_context(registry: RunningRegistry, subject: str) -> None:
    """`:.__GLOBAL:` has settings that every context inherits, and no subjects."""
    path = "/config/:.__GLOBAL:"
    assert registry.call("GET", path).code == 40408
    try:
        registry.call("PUT", path, {"compatibility": "NONE"})
        inherited = registry.call("GET", f"/config/:.c:{subject}?defaultToGlobal=true").body
        assert inherited == {"compatibilityLevel": "NONE"}
        assert registry.call("GET", "/config?defaultToGlobal=true").body == inherited
        assert registry.call("GET", "/config").body == {"compatibilityLevel": "BACKWARD"}
        assert registry.call("GET", "/contexts/.__GLOBAL/config").body == inherited
    finally:
        assert registry.call("DELETE", path).status == 200
    refused = registry.call("POST", f"/subjects/:.__GLOBAL:{subject}/versions", V1)
    assert (refused.status, refused.code) == (422, 42208)
