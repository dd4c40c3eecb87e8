"""ApiVersions: what is on the list, and what happens when a client asks in a newer version."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from headrace.broker.handlers import HANDLERS
from headrace.errors import Error
from headrace.wire import decode
from headrace.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    read_share_group_state,
    read_share_group_state_summary,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    sync_group,
    txn_offset_commit,
    update_features,
    write_share_group_state,
    write_txn_markers,
)
from tests.clients.raw import Connection, ConnectionClosed

API_VERSIONS = 18
# What Apache Kafka 4.3 advertises for the APIs that this broker has.
KAFKA_4_3 = {
    0: (0, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    8: (2, 10),
    9: (1, 10),
    10: (0, 6),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    14: (0, 5),
    15: (0, 6),
    16: (0, 5),
    18: (0, 4),
    19: (2, 7),
    20: (1, 6),
    21: (0, 2),
    22: (0, 5),
    23: (2, 4),
    24: (0, 5),
    25: (0, 4),
    26: (0, 5),
    27: (1, 2),
    28: (0, 5),
    32: (1, 4),
    33: (0, 2),
    34: (1, 2),
    35: (1, 5),
    37: (0, 3),
    42: (0, 2),
    43: (0, 2),
    44: (0, 1),
    45: (0, 1),
    46: (0, 0),
    47: (0, 0),
    48: (0, 1),
    49: (0, 1),
    50: (0, 0),
    57: (0, 2),
    60: (0, 2),
    61: (0, 0),
    65: (0, 0),
    66: (0, 2),
    68: (0, 1),
    69: (0, 1),
    74: (0, 1),
    75: (0, 0),
    76: (1, 1),
    77: (1, 1),
    78: (1, 2),
    79: (1, 2),
    83: (0, 0),
    84: (0, 0),
    85: (0, 1),
    86: (0, 0),
    87: (0, 1),
    90: (0, 1),
    91: (0, 0),
    92: (0, 0),
}
# The smallest request of each API that is harmless and gets an answer.
HARMLESS: dict[int, Callable[[], Any]] = {
    0: lambda: produce.ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[]),
    1: lambda: fetch.FetchRequest(max_wait_ms=0, min_bytes=0, topics=[]),
    2: lambda: list_offsets.ListOffsetsRequest(replica_id=-1, topics=[]),
    3: lambda: metadata.MetadataRequest(topics=[]),
    8: lambda: offset_commit.OffsetCommitRequest(group_id="", member_id="", topics=[]),
    9: lambda: offset_fetch.OffsetFetchRequest(),
    10: lambda: find_coordinator.FindCoordinatorRequest(),
    11: lambda: join_group.JoinGroupRequest(
        group_id="", session_timeout_ms=10_000, member_id="", protocol_type="", protocols=[]
    ),
    12: lambda: heartbeat.HeartbeatRequest(group_id="", generation_id=0, member_id=""),
    13: lambda: leave_group.LeaveGroupRequest(group_id=""),
    14: lambda: sync_group.SyncGroupRequest(
        group_id="", generation_id=0, member_id="", assignments=[]
    ),
    15: lambda: describe_groups.DescribeGroupsRequest(groups=[]),
    16: lambda: list_groups.ListGroupsRequest(),
    18: lambda: api_versions.ApiVersionsRequest(
        client_software_name="tests", client_software_version="1.0"
    ),
    19: lambda: create_topics.CreateTopicsRequest(topics=[]),
    20: lambda: delete_topics.DeleteTopicsRequest(timeout_ms=1_000),
    21: lambda: delete_records.DeleteRecordsRequest(topics=[], timeout_ms=1_000),
    22: lambda: init_producer_id.InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=1_000
    ),
    23: lambda: offset_for_leader_epoch.OffsetForLeaderEpochRequest(replica_id=-1, topics=[]),
    24: lambda: add_partitions_to_txn.AddPartitionsToTxnRequest(),
    25: lambda: add_offsets_to_txn.AddOffsetsToTxnRequest(
        transactional_id="", producer_id=0, producer_epoch=0, group_id=""
    ),
    26: lambda: end_txn.EndTxnRequest(
        transactional_id="", producer_id=0, producer_epoch=0, committed=True
    ),
    27: lambda: write_txn_markers.WriteTxnMarkersRequest(markers=[]),
    28: lambda: txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id="", group_id="", producer_id=0, producer_epoch=0, topics=[]
    ),
    32: lambda: describe_configs.DescribeConfigsRequest(resources=[]),
    33: lambda: alter_configs.AlterConfigsRequest(resources=[], validate_only=True),
    34: lambda: alter_replica_log_dirs.AlterReplicaLogDirsRequest(dirs=[]),
    35: lambda: describe_log_dirs.DescribeLogDirsRequest(topics=[]),
    37: lambda: create_partitions.CreatePartitionsRequest(
        topics=[], timeout_ms=1_000, validate_only=True
    ),
    42: lambda: delete_groups.DeleteGroupsRequest(groups_names=[]),
    43: lambda: elect_leaders.ElectLeadersRequest(topic_partitions=[]),
    44: lambda: incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[], validate_only=True
    ),
    45: lambda: alter_partition_reassignments.AlterPartitionReassignmentsRequest(topics=[]),
    46: lambda: list_partition_reassignments.ListPartitionReassignmentsRequest(topics=[]),
    47: lambda: offset_delete.OffsetDeleteRequest(group_id="", topics=[]),
    48: lambda: describe_client_quotas.DescribeClientQuotasRequest(components=[], strict=False),
    49: lambda: alter_client_quotas.AlterClientQuotasRequest(entries=[], validate_only=True),
    50: lambda: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users=None),
    57: lambda: update_features.UpdateFeaturesRequest(feature_updates=[]),
    60: lambda: describe_cluster.DescribeClusterRequest(
        include_cluster_authorized_operations=False
    ),
    61: lambda: describe_producers.DescribeProducersRequest(topics=[]),
    65: lambda: describe_transactions.DescribeTransactionsRequest(transactional_ids=[]),
    66: lambda: list_transactions.ListTransactionsRequest(state_filters=[], producer_id_filters=[]),
    68: lambda: consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        group_id="", member_id="", member_epoch=0
    ),
    69: lambda: consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=[]),
    74: lambda: list_config_resources.ListConfigResourcesRequest(),
    75: lambda: describe_topic_partitions.DescribeTopicPartitionsRequest(topics=[]),
    76: lambda: share_group_heartbeat.ShareGroupHeartbeatRequest(
        group_id="", member_id="", member_epoch=0
    ),
    77: lambda: share_group_describe.ShareGroupDescribeRequest(group_ids=[]),
    78: lambda: share_fetch.ShareFetchRequest(
        group_id="",
        member_id="",
        share_session_epoch=0,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=0,
        max_records=1,
        batch_size=1,
        topics=[],
        forgotten_topics_data=[],
    ),
    79: lambda: share_acknowledge.ShareAcknowledgeRequest(
        group_id="", member_id="", share_session_epoch=0, topics=[]
    ),
    83: lambda: initialize_share_group_state.InitializeShareGroupStateRequest(
        group_id="", topics=[]
    ),
    84: lambda: read_share_group_state.ReadShareGroupStateRequest(group_id="", topics=[]),
    85: lambda: write_share_group_state.WriteShareGroupStateRequest(group_id="", topics=[]),
    86: lambda: delete_share_group_state.DeleteShareGroupStateRequest(group_id="", topics=[]),
    87: lambda: read_share_group_state_summary.ReadShareGroupStateSummaryRequest(
        group_id="", topics=[]
    ),
    90: lambda: describe_share_group_offsets.DescribeShareGroupOffsetsRequest(groups=[]),
    91: lambda: alter_share_group_offsets.AlterShareGroupOffsetsRequest(group_id="", topics=[]),
    92: lambda: delete_share_group_offsets.DeleteShareGroupOffsetsRequest(group_id="", topics=[]),
}


# The same for versions whose answer nobody gets who asks for nothing.
OF_VERSION: dict[tuple[int, int], Callable[[], Any]] = {
    (24, version): lambda: add_partitions_to_txn.AddPartitionsToTxnRequest(
        transactions=[
            add_partitions_to_txn.AddPartitionsToTxnTransaction(
                transactional_id="nobody", producer_id=0, producer_epoch=0, topics=[]
            )
        ]
    )
    for version in (4, 5)
}


# Client telemetry is told only while somebody wants it; Kafka needs a plug-in for that.
UNTOLD = {71, 72}


def test_the_tables_have_every_api_of_this_broker() -> None:
    """Whoever registers a handler says here what Apache Kafka advertises for it."""
    served = {handler.key for handler in HANDLERS} - UNTOLD
    assert set(KAFKA_4_3) == set(HARMLESS) == served


def advertised(connection: Connection) -> dict[int, tuple[int, int]]:
    response = connection.ask(api_versions.ApiVersionsRequest(), 0)
    assert response.error_code == Error.NONE
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


@pytest.mark.spec("book1:B-27", "admin:RQ-18")
def test_the_list_is_that_of_kafka_4_3(connection: Connection) -> None:
    """Clients switch features by single ranges, and guess the broker's version from them.

    librdkafka needs Produce from 0 for its codecs (KAFKA-18659) and OffsetForLeaderEpoch 2;
    @platformatic/kafka needs Metadata 9 and Fetch 12; kafka-python takes DescribeLogDirs 5 for 4.3.
    """
    found = advertised(connection)
    assert {key: found.get(key) for key in KAFKA_4_3} == KAFKA_4_3


@pytest.mark.spec("book1:B-27", "book1:F-03")
@pytest.mark.parametrize("key", sorted(HARMLESS))
def test_every_version_on_the_list_is_answered(connection: Connection, key: int) -> None:
    """The header's version decides the layout; what is advertised is served, to the last byte."""
    first, last = advertised(connection)[key]
    for version in range(max(first, 3) if key == 0 else first, last + 1):
        connection.ask(OF_VERSION.get((key, version), HARMLESS[key])(), version)


@pytest.mark.parametrize("version", [5, 99, 32_767])
def test_a_newer_version_is_answered_in_the_oldest_layout(
    connection: Connection, version: int
) -> None:
    """KIP-511: v0 layout, error 35, and the range of key 18, so that the client steps down.

    The body may have a shape that nobody here knows.
    """
    client_id, no_tags, unknown_body = b"\x00\x04next", b"\x00", b"\xff\xfe\xfd" * 5
    payload = struct.pack(">hhi", API_VERSIONS, version, 4711) + client_id + no_tags + unknown_body
    connection.send_bytes(struct.pack(">i", len(payload)) + payload)
    frame = connection.receive_frame()
    assert int.from_bytes(frame[:4], "big") == 4711
    response = decode(api_versions.ApiVersionsResponse, 0, frame, 4)
    assert response.error_code == Error.UNSUPPORTED_VERSION
    (only,) = response.api_keys
    assert (only.api_key, only.min_version, only.max_version) == (API_VERSIONS, 0, 4)
    # The connection stays: every client tries again on it.
    assert advertised(connection)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("", "1.0"),
        ("tests", ""),
        ("-tests", "1.0"),
        ("tests", "1.0-"),
        ("te sts", "1"),
        ("tëst", "1"),
    ],
)
def test_a_strange_software_name_is_refused(
    connection: Connection, name: str, version: str
) -> None:
    """KIP-511: letters, digits, '-' and '.', no punctuation at either end; else INVALID_REQUEST."""
    request = api_versions.ApiVersionsRequest(
        client_software_name=name, client_software_version=version
    )
    assert connection.ask(request, 3).error_code == Error.INVALID_REQUEST
    assert advertised(connection)


def test_features_with_minimum_0_are_kept_from_old_clients(connection: Connection) -> None:
    """KAFKA-17011: below v4 a client cannot parse a feature whose lowest version is 0."""
    request = HARMLESS[API_VERSIONS]()
    below, above = connection.ask(request, 3), connection.ask(request, 4)
    assert [feature.name for feature in below.supported_features] == ["metadata.version"]
    assert {feature.min_version for feature in above.supported_features} == {0, 7}


# What Apache Kafka 4.3 supports of the features that this broker has; all stand at their highest.
FEATURES = {
    "group.version": (0, 1),
    "share.version": (0, 1),
    "metadata.version": (7, 30),
    "transaction.version": (0, 2),
}


@pytest.mark.parametrize("version", [3, 4])
def test_features_are_finalized_at_the_highest_level(connection: Connection, version: int) -> None:
    """KIP-584: clients use transactions of KIP-890 and groups of KIP-848 if these levels say so."""
    response = connection.ask(HARMLESS[API_VERSIONS](), version)
    levels = {
        each.name: (each.min_version_level, each.max_version_level)
        for each in response.finalized_features
    }
    assert {name: levels.get(name) for name in FEATURES} == {
        name: (highest, highest) for name, (_, highest) in FEATURES.items()
    }
    assert response.finalized_features_epoch >= 0
    assert response.zk_migration_ready is False
    if version >= 4:
        found = {each.name: each for each in response.supported_features}
        ranges = {name: (found[name].min_version, found[name].max_version) for name in FEATURES}
        assert ranges == FEATURES


@pytest.mark.spec("book1:B-27")
@pytest.mark.parametrize(("key", "version"), [(3, 99), (1, 3), (1, 19), (19, 1), (999, 0), (-1, 0)])
def test_what_is_not_on_the_list_ends_the_connection(
    bootstrap: str, connection: Connection, key: int, version: int
) -> None:
    """Other APIs have no layout in which to say 'unsupported': this connection ends, no other."""
    payload = struct.pack(">hhih", key, version, 1, -1) + bytes(20)
    connection.send_bytes(struct.pack(">i", len(payload)) + payload)
    with pytest.raises(ConnectionClosed):
        connection.receive_frame()
    with Connection(bootstrap) as another:
        assert advertised(another)


def test_it_may_be_asked_at_any_time(connection: Connection) -> None:
    """ApiVersions is not bound to the beginning of a connection."""
    connection.ask(HARMLESS[3](), 12)
    assert advertised(connection) == advertised(connection)
