"""Who shall push what: the settings of the resources CLIENT_METRICS, seen from one client.

Every subscription whose `match` fits the client counts: their metrics are put together, and the
shortest interval wins. A client that none fits pushes nothing and asks again after the default
interval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from zlib import crc32

from headrace.cluster.keys.client_metrics import CLIENT_METRICS_KEYS, MATCH_KEYS

ALL_METRICS: Final = "*"
_KEYS: Final = {key.name: key for key in CLIENT_METRICS_KEYS}
DEFAULT_INTERVAL_MS: Final = int(_KEYS["interval.ms"].default or 0)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What one client is told. The id changes whenever the rest does."""

    id: int
    metrics: tuple[str, ...]
    interval_ms: int


def subscription_of(
    instance_id: UUID, about: Mapping[str, str], configs: Mapping[str, Mapping[str, str]]
) -> Subscription:
    """`about` are the things by which a client can be matched, `configs` the subscriptions."""
    metrics: set[str] = set()
    intervals = []
    for _, config in sorted(configs.items()):
        if _matches(config.get("match", ""), about):
            metrics.update(_KEYS["metrics"].parse(config.get("metrics", "")))
            intervals.append(int(config.get("interval.ms", DEFAULT_INTERVAL_MS)))
    wanted = (ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics))
    interval_ms = min(intervals, default=DEFAULT_INTERVAL_MS)
    checksum = crc32(f"{instance_id} {interval_ms} {','.join(wanted)}".encode())
    return Subscription(checksum - (1 << 31), wanted, interval_ms)


def _matches(patterns: str, about: Mapping[str, str]) -> bool:
    for each in filter(None, map(str.strip, patterns.split(","))):
        key, _, pattern = each.partition("=")
        key = key.strip()
        if key not in MATCH_KEYS or not re.fullmatch(pattern.strip(), about.get(key, "")):
            return False
    return True
