"""GET /brokers: the ids of the brokers that are alive."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.admin.client import Admin
from headrace.rest.call import Call
from headrace.rest.kafka_faults import of_client
from headrace.rest.tables import v2_table

table: Final = v2_table(tag="Brokers (v2)")


class Brokers(msgspec.Struct):
    brokers: list[int]


@table.get("/brokers", "List brokers", reply=Brokers)
async def list_brokers(call: Call) -> Brokers:
    found = await call.service.calls.ask(Admin.describe_cluster, of_client)
    return Brokers(sorted(found.ids))
