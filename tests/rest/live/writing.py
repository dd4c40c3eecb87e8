"""Records for readers to find."""

from __future__ import annotations

import json
from typing import Any

from tests.rest.v3.running_proxy import RunningProxy


def write(proxy: RunningProxy, cluster: str, topic: str, *values: Any, **record: Any) -> None:
    """Write values as JSON, to partition 0 unless the record says otherwise."""
    body = b"".join(
        json.dumps({"partition_id": 0, **record, "value": {"type": "JSON", "data": value}}).encode()
        for value in values
    )
    answer = proxy.ask("POST", f"{cluster}/topics/{topic}/records", body)
    assert answer.status == 200, answer


def values(data: list[dict[str, Any]]) -> list[Any]:
    return [record["value"]["data"] for record in data]
