"""Transactional producers of earlier tasks, made unable to write."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Final

from headrace.client.cluster import Cluster
from headrace.client.settings import ClientSettings
from headrace.client.transactions import Transactions

_SHORTEST_MS: Final = 1
"""Nobody writes under the epoch that fencing begins."""


def fence(settings: ClientSettings, ids: Iterable[str]) -> None:
    """End what producers of these transactional ids left open; none of them can write after it."""
    with closing(Cluster(settings)) as cluster:
        for each in ids:
            Transactions(cluster, each, _SHORTEST_MS).init()
