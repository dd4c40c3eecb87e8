"""Every API that this package has messages for, by key; message modules are loaded on demand.

The table repeats what the messages declare, so that a broker can list its versions without loading
them; a test holds the two together. Which of these a broker serves, and which versions it claims
to serve, is decided elsewhere.
"""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module
from typing import Final

from headrace.errors import ClientFault, Error


class Api:
    """One API: its key, name, versions, and its two message classes once they are asked for."""

    def __init__(self, key: int, name: str, first: int, last: int) -> None:
        self.key = key
        self.name = name
        self.versions = range(first, last + 1)

    @property
    def min_version(self) -> int:
        return self.versions[0]

    @property
    def max_version(self) -> int:
        return self.versions[-1]

    @property
    def module_name(self) -> str:
        """The name of its modules in every room: `OffsetCommit` lives in `offset_commit`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.name).lower()

    @cached_property
    def request(self) -> type:
        return self._load("Request")

    @cached_property
    def response(self) -> type:
        return self._load("Response")

    def _load(self, suffix: str) -> type:
        module = import_module(f"headrace.wire.messages.{self.module_name}")
        loaded: type = getattr(module, self.name + suffix)
        return loaded

    def __repr__(self) -> str:
        return f"Api({self.key}, {self.name!r}, {self.min_version}-{self.max_version})"


_APIS: Final = {
    api.key: api
    for api in (
        Api(0, "Produce", 3, 13),
        Api(1, "Fetch", 4, 18),
        Api(2, "ListOffsets", 1, 11),
        Api(3, "Metadata", 0, 13),
        Api(8, "OffsetCommit", 2, 10),
        Api(9, "OffsetFetch", 1, 10),
        Api(10, "FindCoordinator", 0, 6),
        Api(11, "JoinGroup", 0, 9),
        Api(12, "Heartbeat", 0, 4),
        Api(13, "LeaveGroup", 0, 5),
        Api(14, "SyncGroup", 0, 5),
        Api(15, "DescribeGroups", 0, 6),
        Api(16, "ListGroups", 0, 5),
        Api(17, "SaslHandshake", 0, 1),
        Api(18, "ApiVersions", 0, 4),
        Api(19, "CreateTopics", 2, 7),
        Api(20, "DeleteTopics", 1, 6),
        Api(21, "DeleteRecords", 0, 2),
        Api(22, "InitProducerId", 0, 5),
        Api(23, "OffsetForLeaderEpoch", 2, 4),
        Api(24, "AddPartitionsToTxn", 0, 5),
        Api(25, "AddOffsetsToTxn", 0, 4),
        Api(26, "EndTxn", 0, 5),
        Api(27, "WriteTxnMarkers", 1, 2),
        Api(28, "TxnOffsetCommit", 0, 5),
        Api(29, "DescribeAcls", 1, 3),
        Api(30, "CreateAcls", 1, 3),
        Api(31, "DeleteAcls", 1, 3),
        Api(32, "DescribeConfigs", 1, 4),
        Api(33, "AlterConfigs", 0, 2),
        Api(34, "AlterReplicaLogDirs", 1, 2),
        Api(35, "DescribeLogDirs", 1, 5),
        Api(36, "SaslAuthenticate", 0, 2),
        Api(37, "CreatePartitions", 0, 3),
        Api(42, "DeleteGroups", 0, 2),
        Api(43, "ElectLeaders", 0, 2),
        Api(44, "IncrementalAlterConfigs", 0, 1),
        Api(45, "AlterPartitionReassignments", 0, 1),
        Api(46, "ListPartitionReassignments", 0, 0),
        Api(47, "OffsetDelete", 0, 0),
        Api(48, "DescribeClientQuotas", 0, 1),
        Api(49, "AlterClientQuotas", 0, 1),
        Api(50, "DescribeUserScramCredentials", 0, 0),
        Api(50, "DescribeUserScramCredentials", 0, 0),
        Api(51, "AlterUserScramCredentials", 0, 0),
        Api(57, "UpdateFeatures", 0, 2),
        Api(60, "DescribeCluster", 0, 2),
        Api(61, "DescribeProducers", 0, 0),
        Api(64, "UnregisterBroker", 0, 0),
        Api(65, "DescribeTransactions", 0, 0),
        Api(66, "ListTransactions", 0, 2),
        Api(68, "ConsumerGroupHeartbeat", 0, 1),
        Api(69, "ConsumerGroupDescribe", 0, 1),
        Api(71, "GetTelemetrySubscriptions", 0, 0),
        Api(72, "PushTelemetry", 0, 0),
        Api(74, "ListConfigResources", 0, 1),
        Api(75, "DescribeTopicPartitions", 0, 0),
        Api(76, "ShareGroupHeartbeat", 1, 1),
        Api(77, "ShareGroupDescribe", 1, 1),
        Api(78, "ShareFetch", 1, 2),
        Api(79, "ShareAcknowledge", 1, 2),
        Api(83, "InitializeShareGroupState", 0, 0),
        Api(84, "ReadShareGroupState", 0, 0),
        Api(85, "WriteShareGroupState", 0, 1),
        Api(86, "DeleteShareGroupState", 0, 0),
        Api(87, "ReadShareGroupStateSummary", 0, 1),
        Api(90, "DescribeShareGroupOffsets", 0, 1),
        Api(91, "AlterShareGroupOffsets", 0, 0),
        Api(92, "DeleteShareGroupOffsets", 0, 0),
    )
}


def by_key(key: int) -> Api:
    """The API of this key; an unknown key is the client's fault."""
    try:
        return _APIS[key]
    except KeyError:
        raise ClientFault(Error.INVALID_REQUEST, f"api key {key} is not known here") from None


def all_apis() -> tuple[Api, ...]:
    """Every API in the order of its key; loads no message."""
    return tuple(_APIS.values())
