"""Which quotas a broker knows of, and how the time of a request is counted."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from headrace.broker.net.quotas import Account, Quotas, timed
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_owners import ConfigOwner, OwnerKind
from headrace.cluster.image import ClusterImage, ConfigChanged
from headrace.quotas.limits import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE
from headrace.testing import VirtualClock


def quotas_of(image: ClusterImage | None = None, **settings: str) -> Quotas:
    config = BrokerConfig({key.replace("_", "."): value for key, value in settings.items()})
    ticks = itertools.count(1_000, 10)
    return Quotas(config, image or ClusterImage("c"), VirtualClock(), lambda: next(ticks))


@pytest.mark.spec("slides:M09")
def test_quotas_are_active_while_there_are_some() -> None:
    """The hot path asks nothing else; an address's quota is not its business."""
    quotas = quotas_of()
    assert not quotas.active
    quotas.on_changes(
        [ConfigChanged(ConfigOwner(OwnerKind.USER, "u"), {"producer_byte_rate": "5"}, 0)]
    )
    assert quotas.active
    quotas.on_changes(
        [ConfigChanged(ConfigOwner(OwnerKind.USER, "u"), {"producer_byte_rate": "soon"}, 1)]
    )
    assert not quotas.active
    quotas.on_changes(
        [ConfigChanged(ConfigOwner(OwnerKind.IP, "::1"), {"connection_creation_rate": "5"}, 0)]
    )
    quotas.on_changes([ConfigChanged(ConfigOwner(OwnerKind.USER, "u/clients"), {}, 0)])
    assert not quotas.active


def test_a_start_finds_what_is_stored() -> None:
    image = ClusterImage("c")
    image.apply(
        [ConfigChanged(ConfigOwner(OwnerKind.USER, "u/clients/c"), {"consumer_byte_rate": "7"})]
    )
    quotas = quotas_of(image)
    assert quotas.active
    assert quotas.limits.find(CONSUMER_BYTE_RATE, "u", "c") == (7.0, ("u", "c"))


def test_defaults_of_a_file_of_old_hold_until_others_are_stored() -> None:
    """quota.producer.default is the quota of client ids without one; a stored default is more."""
    quotas = quotas_of(quota_producer_default="1000")
    assert quotas.active
    assert quotas.limits.find(PRODUCER_BYTE_RATE, "u", "c") == (1000.0, (None, "c"))
    assert quotas.limits.find(CONSUMER_BYTE_RATE, "u", "c") is None
    stored = ConfigChanged(
        ConfigOwner(OwnerKind.CLIENT_ID, "<default>"), {"producer_byte_rate": "5"}, 0
    )
    quotas.on_changes([stored])
    assert quotas.limits.find(PRODUCER_BYTE_RATE, "u", "c") == (5.0, (None, "c"))
    quotas.on_changes([ConfigChanged(ConfigOwner(OwnerKind.CLIENT_ID, "<default>"), {}, -1)])
    assert quotas.limits.find(PRODUCER_BYTE_RATE, "u", "c") == (1000.0, (None, "c"))


def test_waiting_costs_no_time() -> None:
    """Only the steps of a coroutine count, each a tick here; what it returns and raises passes."""
    account = Account(quotas_of(), 3, 0, is_exempt=False)
    account.pause()
    before = account.spent_ns

    async def work(gate: asyncio.Future[str]) -> str:
        return await gate + await gate

    async def main() -> None:
        loop = asyncio.get_running_loop()
        gate: asyncio.Future[str] = loop.create_future()
        loop.call_later(0.02, gate.set_result, "x")
        assert await timed(work(gate), account) == "xx"
        broken: asyncio.Future[str] = loop.create_future()
        loop.call_later(0.01, broken.set_exception, LookupError("gone"))
        with pytest.raises(LookupError, match="gone"):
            await timed(work(broken), account)

    asyncio.run(main())
    assert account.spent_ns - before == 4 * 10
