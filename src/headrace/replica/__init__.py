"""Partitions on this broker: leadership, replication, high watermark, and requests that wait.

Plain synchronous state. Whoever owns a replica tells it what happened (an append, a follower's
fetch, a finished flush, news from the cluster) and is told through waiters and results what can be
answered now; nothing here knows of sockets, and time is an argument.

`partition` is one replica in either role, `isr` and `followers` what a leader knows of the others,
`following` what a follower does with its leader's answers, `fetcher` the conversation that brings
them.
"""

from __future__ import annotations

from headrace.replica.fetcher import Fetched, ReplicaFetcher
from headrace.replica.leadership import EpochEnd, Leadership, ReplicaFetch, ReplicaRead
from headrace.replica.partition import Partition
from headrace.replica.quota import ReplicationQuota, ThrottledReplicas
from headrace.replica.read_replica import select_read_replica

__all__ = [
    "EpochEnd",
    "Fetched",
    "Leadership",
    "Partition",
    "ReplicaFetch",
    "ReplicaFetcher",
    "ReplicaRead",
    "ReplicationQuota",
    "ThrottledReplicas",
    "select_read_replica",
]
