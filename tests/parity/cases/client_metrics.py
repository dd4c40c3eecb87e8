"""`kafka-client-metrics`."""

from __future__ import annotations

from typing import Any

from headrace.admin.settings import Resource
from tests.parity.admin_steps import settings
from tests.parity.case import HELP, Case

BASIC = settings(Resource.CLIENT_METRICS, "basic", {"interval.ms": "5000", "metrics": "a.,b."})
CLEAN = settings(Resource.CLIENT_METRICS, "basic")


def case(words: str, **more: Any) -> Case:
    return Case("kafka-client-metrics", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("--list"),
    case("--list", name="list one", setup=(BASIC,)),
    case("--describe", setup=(BASIC,), loose=("order",)),
    case("--describe --name basic", setup=(BASIC,), loose=("order",)),
    case("--describe --name nope"),
    case(
        "--alter --name basic --metrics org.apache.kafka. --interval 60000 "
        "--match client_id=app.*,client_software_name=librdkafka",
        setup=(CLEAN,),
        then="--describe --name basic",
        loose=("order",),
    ),
    case(
        "--alter --name basic --interval ''",
        setup=(BASIC,),
        then="--describe --name basic",
        loose=("order",),
    ),
    case("--delete --name basic", setup=(BASIC,), then="--list"),
    case("--alter --name basic --interval soon"),
    case("--alter --interval 5000"),
    case("--alter --name basic --generate-name"),
    case("--delete"),
    case("--delete --name basic --interval 5"),
    case("--list --name basic"),
    case("--list --describe"),
    Case("kafka-client-metrics", "--list"),
    Case("kafka-client-metrics", ""),
    Case("kafka-client-metrics", "--help", differs=HELP),
]
