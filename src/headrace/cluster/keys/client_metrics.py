"""Settings of a client metrics subscription (KIP-714): what which clients push, and how often."""

from __future__ import annotations

import re
from typing import Any, Final

from headrace.cluster.config_types import INT, LIST, Allowed, ConfigKey, between

MATCH_KEYS: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def _are_patterns(items: Any) -> bool:
    for item in items:
        key, equals, pattern = item.partition("=")
        if not equals or key.strip() not in MATCH_KEYS:
            return False
        try:
            re.compile(pattern.strip())
        except re.error:
            return False
    return True


CLIENT_METRICS_KEYS: Final = (
    ConfigKey(
        "interval.ms",
        INT,
        "300000",
        "How often a client pushes.",
        between(100, 3_600_000),
    ),
    ConfigKey(
        "match",
        LIST,
        "",
        "Patterns that all must fit a client, as `client_id=app-.*`. Empty fits every client.",
        Allowed(f"a list of key=pattern, the key one of {', '.join(MATCH_KEYS)}", _are_patterns),
    ),
    ConfigKey(
        "metrics",
        LIST,
        "",
        "Prefixes of the names of the metrics to push; `*` is all of them.",
    ),
)
