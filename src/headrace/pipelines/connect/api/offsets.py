"""`/connectors/{name}/offsets`: where a connector stands, changed while it is stopped."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.api.bodies import Message, Offsets, offsets_of
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.endpoint import FORWARD, new_table
from headrace.pipelines.connect.herder.offsets import some

table: Final = new_table(tag="Offsets")


@table.get("/connectors/{name}/offsets", "Where a connector stands", reply=Offsets)
def offsets(call: Call) -> Offsets:
    return offsets_of(call.worker.offsets(call.name))


@table.patch(
    "/connectors/{name}/offsets",
    "Set some offsets; null takes one away",
    query=(FORWARD,),
    body=Offsets,
    reply=Message,
)
def alter(call: Call) -> Message:
    asked = some([(each.partition, each.offset) for each in call.body.offsets or ()])
    return Message(call.worker.alter_offsets(call.name, asked))


@table.delete(
    "/connectors/{name}/offsets", "Let a connector begin again", query=(FORWARD,), reply=Message
)
def reset(call: Call) -> Message:
    return Message(call.worker.reset_offsets(call.name))
