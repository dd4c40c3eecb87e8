"""Clients over their quotas in simulated clusters: they never get more than their share, and never
wait for ever, whatever befalls the brokers meanwhile.
"""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import pytest

from headrace.quotas.accounts import RateAccounts
from tests.simulation.cluster.quotas import READER, VALUE_BYTES, WRITER, WRITES, QuotaWitness
from tests.simulation.cluster.world import ClusterWorld

# A world takes seconds of a processor: minutes on a machine that is busy with much else.
pytestmark = pytest.mark.timeout(900)

SEED = int(os.environ.get("HEADRACE_SEED", "502"))


def test_a_greedy_client_gets_its_share_and_no_more() -> None:
    """Under upheaval the quota holds in every life of every broker; in the end all is written."""
    quotas = QuotaWitness()
    ClusterWorld(SEED, quotas=quotas).run()
    assert quotas.throttled > 0
    assert quotas.served[WRITER] >= WRITES * VALUE_BYTES
    assert quotas.served[READER] > 0


def test_a_quota_that_is_not_enforced_is_noticed() -> None:
    """The invariant breaks where nobody is made to wait."""

    def never(self: RateAccounts, *_: Any) -> int:
        return 0

    with (
        patch.object(RateAccounts, "charge", never),
        patch.object(RateAccounts, "charge_unless_over", never),
        pytest.raises(AssertionError, match="quota-holds"),
    ):
        ClusterWorld(SEED, quotas=QuotaWitness()).run()
