"""The log cleaner's settings have the defaults that operators know."""

from __future__ import annotations

import pytest

from headrace.cluster.broker_config import BrokerConfig

DEFAULTS = {
    "log.cleaner.enable": True,
    "log.cleaner.threads": 1,
    "log.cleaner.backoff.ms": 15_000,
    "log.cleaner.dedupe.buffer.size": 134_217_728,
    "log.cleaner.delete.retention.ms": 86_400_000,
    "log.cleaner.io.buffer.size": 524_288,
    "log.cleaner.io.max.bytes.per.second": 1.7976931348623157e308,
    "log.cleaner.min.cleanable.ratio": 0.5,
    "log.cleaner.min.compaction.lag.ms": 0,
}


@pytest.mark.spec(
    "slides:F20",
    "slides:F21",
    "slides:F22",
    "slides:F23",
    "slides:F24",
    "slides:F25",
    "slides:F26",
    "slides:F27",
)
@pytest.mark.parametrize("name", DEFAULTS)
def test_default(name: str) -> None:
    """What a broker says that was told nothing."""
    assert BrokerConfig().get(name) == DEFAULTS[name]
