"""The pytest fixture `headrace_broker`: a broker for the whole test run, started when first used.

Installed with Headrace; nothing to configure. Import is cheap, because pytest loads it always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing.broker import Broker


@pytest.fixture(scope="session")
def headrace_broker() -> Iterator[Broker]:
    """A running broker; `headrace_broker.bootstrap_servers` is its address."""
    from headrace.testing.broker import Broker

    with Broker() as broker:
        yield broker
