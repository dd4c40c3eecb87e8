"""`/` and `/v1/metadata`: what this service is."""

from __future__ import annotations

from typing import Any, Final

from headrace import __version__
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import Kind, new_table
from headrace.security.users import Role

table: Final = new_table()


@table.get("/", "Nothing, as a sign of life", reply=dict[str, str])
def get_root(call: Call) -> dict[str, str]:
    return {}


@table.post(
    "/", "Nothing, as a sign of life", kind=Kind.READ, role=Role.READ_ONLY, reply=dict[str, str]
)
def post_root(call: Call) -> dict[str, str]:
    return {}


@table.get("/v1/metadata/id", "Which clusters this service belongs to", reply=dict[str, Any])
def get_id(call: Call) -> dict[str, Any]:
    clusters = {
        "kafka-cluster": call.registry.store.kafka_cluster_id,
        "schema-registry-cluster": call.settings.group_id,
    }
    return {"scope": {"path": [], "clusters": clusters}, "id": ""}


@table.get("/v1/metadata/version", "The version of this service", reply=dict[str, str])
def get_version(call: Call) -> dict[str, str]:
    return {"version": __version__, "commitId": ""}


@table.get("/v1/metadata/deployment", "Where this service runs", reply=dict[str, Any])
def get_deployment(call: Call) -> dict[str, Any]:
    return {"attributes": []}
