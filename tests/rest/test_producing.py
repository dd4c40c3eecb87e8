"""The shared producer on its own: what happens while no broker is there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.errors import ConfigError
from headrace.rest.errors import KAFKA_RETRIABLE_ERROR, RestError
from headrace.rest.producing import OutRecord, ProduceFault, SharedProducer

RECORD = OutRecord(None, None, b"x")


def producer(**more: Any) -> SharedProducer:
    """One that finds no broker and has room for ten records."""
    return SharedProducer(
        {
            "bootstrap.servers": "127.0.0.1:9",
            "queue.buffering.max.messages": 10,
            "delivery.timeout.ms": 1500,
            "log_level": 0,
            **more,
        }
    )


def test_a_full_queue_pushes_back() -> None:
    """429 for a request that finds no room; one that got half in is told for each record."""

    async def story() -> None:
        shared = producer()
        half = asyncio.ensure_future(shared.send("t", [RECORD] * 15))
        await asyncio.sleep(0)
        with pytest.raises(RestError, match="queue") as refused:
            await shared.send("t", [RECORD])
        assert (refused.value.http_status, refused.value.retry_after_s) == (429, 1)
        outcomes = await half
        assert len(outcomes) == 15
        assert all(
            isinstance(each, ProduceFault) and each.error_code == KAFKA_RETRIABLE_ERROR
            for each in outcomes
        )
        assert ["queue" in each.message for each in outcomes if isinstance(each, ProduceFault)] == [
            *[False] * 10,
            *[True] * 5,
        ]
        # There is room again.
        assert len(await shared.send("t", [RECORD])) == 1
        await shared.close()

    asyncio.run(asyncio.wait_for(story(), 30))


def test_a_client_that_goes_away_harms_nobody() -> None:
    """The outcome of its records is dropped; those of others arrive."""

    async def story() -> None:
        shared = producer(**{"delivery.timeout.ms": 500})
        gone = asyncio.ensure_future(shared.send("t", [RECORD]))
        other = asyncio.ensure_future(shared.send("t", [RECORD]))
        await asyncio.sleep(0.05)
        gone.cancel()
        (outcome,) = await other
        assert isinstance(outcome, ProduceFault)
        await shared.close()

    asyncio.run(asyncio.wait_for(story(), 30))


def test_settings_that_librdkafka_refuses_are_named() -> None:
    """`ConfigError` instead of a client that never works."""

    async def story() -> None:
        with pytest.raises(ConfigError, match="producer"):
            await producer(acks="many").send("t", [RECORD])

    asyncio.run(story())
