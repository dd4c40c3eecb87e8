"""What an instance does with work that takes long."""

from __future__ import annotations

import asyncio
import threading

import pytest

from headrace.registry.errors import RegistryError
from headrace.registry.instance import Registry
from headrace.registry.settings import registry_settings


def test_too_much_work_is_refused() -> None:
    """503 beyond `worker.queue.size`, and whoever was taken is served."""
    settings, _ = registry_settings({"worker.queue.size": "2"})
    registry = Registry(settings)
    release = threading.Event()

    async def crowd() -> None:
        waiting = [asyncio.create_task(registry.compute(lambda: release.wait(10))) for _ in "ab"]
        await asyncio.sleep(0)
        with pytest.raises(RegistryError) as raised:
            await registry.compute(lambda: None)
        assert raised.value.http_status == 503
        release.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await registry.compute(lambda: "free again") == "free again"

    asyncio.run(crowd())
    registry.close()


def test_work_and_replays_take_turns() -> None:
    """While something is computed the state does not change; the record waits for its turn."""
    settings, _ = registry_settings({})
    registry = Registry(settings)
    order: list[str] = []
    started, release = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        release.wait(10)
        order.append("computed")

    async def both() -> None:
        computing = asyncio.create_task(registry.compute(work))
        assert await asyncio.to_thread(started.wait, 10)
        replaying = asyncio.create_task(registry.in_turn(lambda: order.append("replayed")))
        await asyncio.sleep(0.01)
        assert order == []
        release.set()
        await asyncio.gather(computing, replaying)

    asyncio.run(both())
    assert order == ["computed", "replayed"]
    registry.close()
