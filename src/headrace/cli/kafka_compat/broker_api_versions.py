"""`kafka-broker-api-versions`: what each broker speaks, and what of it can be used from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.admin.client import Admin
from headrace.cli.api_names import api_name
from headrace.cli.kafka_compat.administering import CONNECTING, bare
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, on_cluster
from headrace.errors import HeadraceError
from headrace.wire.registry import all_apis

# What clients of Kafka 4.3 ask of a broker; the rest is between brokers and controllers.
_OF_CLIENTS: Final = (
    *range(4), *range(8, 52), 55, 57, 60, 61, 64, 65, 66, 68, 69, 71, 72, *range(74, 82),
    *range(83, 93),
)  # fmt: skip
# Those that Kafka's client has and ours does not: the versions of 4.3.
_OF_KAFKAS_CLIENT: Final = {
    38: range(1, 4), 39: range(1, 3),
    40: range(1, 3), 41: range(1, 4), 55: range(3), 80: range(2), 81: range(1), 88: range(1),
    89: range(1),
}  # fmt: skip


def _show(admin: Admin, _given: Given) -> None:
    for broker in admin.describe_cluster().brokers:
        where = f"{broker.host}:{broker.port} (id: {broker.id} rack: "
        where += f"{broker.rack or 'null'} isFenced: {str(broker.is_fenced).lower()})"
        try:
            served = admin.connection(broker.id).served()
        except HeadraceError as error:
            print(f"{where} -> ERROR: {bare(error)}")
            continue
        print(f"{where} -> (\n\t" + ",\n\t".join(api_lines(served)) + "\n)")


def api_lines(served: Mapping[int, range]) -> list[str]:
    """A line for each API that the broker serves, or that clients would expect of it."""
    lines = []
    for key in sorted({*served, *_OF_CLIENTS}):
        name = api_name(key) or "UNKNOWN"
        if key not in served:
            lines.append(f"{name}({key}): UNSUPPORTED")
            continue
        first, last = served[key][0], served[key][-1]
        text = f"{name}({key}): {first}" if first == last else f"{name}({key}): {first} to {last}"
        lines.append(text + _usable(key, first, last))
    return lines


def _usable(key: int, first: int, last: int) -> str:
    """The newest version that a client of Kafka 4.3 would use; nothing of what it never asks."""
    ours = next((api.versions for api in all_apis() if api.key == key), None)
    ours = ours or _OF_KAFKAS_CLIENT.get(key)
    if ours is None:
        return ""
    if ours[-1] < first:
        return " [unusable: node too new]"
    if last < ours[0]:
        return " [unusable: node too old]"
    return f" [usable: {min(ours[-1], last)}]"


run: Final = Tool(
    "kafka-broker-api-versions",
    flags(CONNECTING, OF_THE_PAST),
    "--bootstrap-server localhost:9092",
    lambda given: on_cluster(given, servers_of(given), _show),
)
