"""`/` and `/health`: what the worker is, and whether it is well."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from headrace import __version__
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.endpoint import new_table

table: Final = new_table(tag="Worker")

KAFKA_VERSION: Final = "4.3.1"
"""Clients choose what to ask by the version of Kafka."""


class Server(msgspec.Struct):
    """What is asked."""

    version: str
    commit: str
    kafka_cluster_id: str


class Health(msgspec.Struct):
    """How the worker is: healthy, starting or unhealthy."""

    status: str
    message: str


@table.get("/", "The worker's version, and the cluster that it works with", reply=Server)
def root(call: Call) -> Server:
    return Server(KAFKA_VERSION, f"headrace-{__version__}", call.worker.cluster_id())


@table.get(
    "/health", "Whether the worker can serve", reply=Health, also_status=(503,), errors=(500,)
)
def health(call: Call) -> Response:
    trouble = call.worker.trouble()
    if trouble is None:
        call.service.was_well = True
        said = "Worker has completed startup and is ready to handle requests."
        return call.respond(Health("healthy", said))
    if call.service.was_well:
        return call.respond(Health("unhealthy", trouble), 500)
    return call.respond(Health("starting", trouble), 503)
