"""The administrative requests of a cluster.

A request goes to the controller, so that a change is seen by the next question: other brokers hear
of it a moment later. If it cannot be reached, any other broker is asked. Only the settings and the
disks of a broker are asked of that broker. If a connection is lost, the request is sent again to
another broker within the client's time. Errors come back as values where there is one for each
partition, and as `Refused` where one concerns the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from headrace.admin import views
from headrace.admin.faults import Fault, Refused, in_words, raise_for
from headrace.client.cluster import Cluster
from headrace.client.connection import Connection, ConnectionLost, Unreachable
from headrace.client.faults import BrokerRefused, error_named
from headrace.client.retrying import Deadline
from headrace.client.settings import ClientSettings
from headrace.errors import Error
from headrace.types import TopicPartition

PREFERRED: Final = 0
UNCLEAN: Final = 1
TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
SET: Final = 0
DELETE: Final = 1
_DESCRIBE_TOPIC_PARTITIONS: Final = 75
PAGE: Final = 2000
_TIMEOUT_MS: Final = 60_000


class Changes(NamedTuple):
    """New values of settings of one topic or broker; None returns one to its default."""

    kind: int
    name: str
    values: Mapping[str, str | None]


class Alteration(NamedTuple):
    """One change of a setting; the operation is the number that the protocol has for it."""

    name: str
    operation: int
    value: str | None


class Admin(AbstractContextManager["Admin"]):
    """One cluster; use as a context manager, or `close` it."""

    def __init__(self, settings: ClientSettings) -> None:
        self.cluster = Cluster(settings)
        """For what needs a leader or a coordinator."""
        self._controller: int | None = None

    def close(self) -> None:
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, request: Any) -> Any:
        """The answer of the controller, or of another broker if it cannot be reached."""
        deadline = self.cluster.deadline(f"asking {type(request).__name__}")
        try:
            return self.cluster.call(self._find_controller(deadline), request, deadline)
        except (ConnectionLost, Unreachable, BrokerRefused):
            self._controller = None
        while True:
            try:
                connection = self.cluster.any_broker(within=deadline)
                return self.cluster.call(connection, request, deadline)
            except (ConnectionLost, Unreachable) as error:
                deadline.rest(error)

    def change(self, request: Any, listed: str | None = None) -> list[Any]:
        """The results in a field of the controller's answer, or the answer as the only one.

        The controller is looked for again if it has moved.
        """
        what = type(request).__name__
        deadline = self.cluster.deadline(f"asking {what}")
        while True:
            answer = self.ask(request)
            results: list[Any] = [answer] if listed is None else getattr(answer, listed)
            moved = [each for each in results if each.error_code == Error.NOT_CONTROLLER]
            if not moved:
                return results
            self._controller = None
            deadline.rest(BrokerRefused(Error.NOT_CONTROLLER, what, moved[0].error_message))

    def _find_controller(self, deadline: Deadline) -> Connection:
        if self._controller is None:
            self.cluster.topics([], within=deadline)
            self._controller = self.cluster.controller_id
        return self.cluster.broker(self._controller, within=deadline)

    def ask_broker(self, broker_id: int, request: Any) -> Any:
        """The answer of this broker, on a new connection if the old one is lost."""
        deadline = self.cluster.deadline(f"asking broker {broker_id}")
        while True:
            try:
                return self.cluster.call(self.connection(broker_id), request, deadline)
            except ConnectionLost as error:
                deadline.rest(error)

    def ask_owner(self, kind: int, name: str, request: Any) -> Any:
        """The answer of the broker whose settings these are, if it is alive; else of any.

        The empty name of a broker stands for all of them.
        """
        if kind in (BROKER, BROKER_LOGGER) and name and int(name) in self.describe_cluster().ids:
            return self.ask_broker(int(name), request)
        return self.ask(request)

    def connection(self, broker_id: int) -> Connection:
        """A connection to one broker."""
        self.cluster.topics([])
        return self.cluster.broker(broker_id)

    # -- looking ----------------------------------------------------------------------------------

    def describe_cluster(
        self, *, controllers: bool = False, include_fenced: bool = False
    ) -> views.ClusterView:
        """The brokers, or the controllers of a KRaft quorum."""
        from headrace.wire.messages.describe_cluster import DescribeClusterRequest

        request = DescribeClusterRequest(
            include_cluster_authorized_operations=False,
            endpoint_type=2 if controllers else 1,
            include_fenced_brokers=include_fenced,
        )
        answer = self.ask(request)
        raise_for(answer.error_code, answer.error_message)
        brokers = [
            views.BrokerView(each.broker_id, each.host, each.port, each.rack, each.is_fenced)
            for each in answer.brokers
        ]
        return views.ClusterView(answer.cluster_id, answer.controller_id, tuple(sorted(brokers)))

    def topics(
        self, names: Collection[str] | None = None, *, with_operations: bool = False
    ) -> list[views.TopicView]:
        """These topics, or all, by name, without what only `describe` tells.

        `Refused` for one of these that does not exist.
        """
        from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

        request = MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=with_operations,
        )
        answer = self.ask(request)
        raise_for(answer.error_code, None)
        found = []
        for each in answer.topics:
            # A topic whose partitions have no leader is there nevertheless.
            if each.error_code not in (Error.NONE, Error.LEADER_NOT_AVAILABLE):
                if names is not None:
                    raise Refused(each.error_code, None)
                continue
            partitions = sorted(_partition(one, None, None) for one in each.partitions)
            operations = each.topic_authorized_operations if with_operations else None
            found.append(
                views.TopicView(
                    each.name, each.topic_id, each.is_internal, tuple(partitions), operations
                )
            )
        return sorted(found)

    def topic(self, name: str, *, with_operations: bool = False) -> views.TopicView:
        """One topic; `Refused` if it does not exist."""
        for found in self.topics([name], with_operations=with_operations):
            return found
        raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, None)

    def partition(self, place: TopicPartition) -> views.PartitionView:
        """One partition; `Refused` if it does not exist."""
        found = self.topic(place.topic).partitions
        for each in found:
            if each.number == place.partition:
                return each
        raise Refused(
            Error.UNKNOWN_TOPIC_OR_PARTITION,
            f'topic "{place.topic}" has no partition {place.partition}; it has 0 to '
            f"{len(found) - 1}",
        )

    def describe(self, names: Collection[str], *, page_size: int = PAGE) -> list[views.TopicView]:
        """These topics in the order of their names; `Refused` for one that does not exist.

        `page_size` is how many partitions a broker tells at once.
        """
        from headrace.wire.messages.describe_topic_partitions import (
            DescribeTopicPartitionsRequest,
            TopicRequest,
        )

        if not names:
            return []
        if _DESCRIBE_TOPIC_PARTITIONS not in self.cluster.any_broker().served():
            return [topic for topic in self.topics() if topic.name in names]
        wanted = [TopicRequest(name=name) for name in sorted(names)]
        pages: dict[str, views.TopicView] = {}
        cursor = None
        while True:
            page = self.ask(
                DescribeTopicPartitionsRequest(
                    topics=wanted, response_partition_limit=page_size, cursor=cursor
                )
            )
            for each in page.topics:
                raise_for(each.error_code, f"Topic {each.name} not found.")
                partitions = [
                    _partition(one, one.eligible_leader_replicas, one.last_known_elr)
                    for one in each.partitions
                ]
                before = pages[each.name].partitions if each.name in pages else ()
                pages[each.name] = views.TopicView(
                    each.name, each.topic_id, each.is_internal, (*before, *partitions)
                )
            cursor = page.next_cursor
            if cursor is None:
                return sorted(pages.values())
            wanted = [each for each in wanted if each.name >= cursor.topic_name]

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, views.Reassignment]:
        """What is on the move, of these partitions or of all."""
        from headrace.wire.messages.list_partition_reassignments import (
            ListPartitionReassignmentsRequest,
            ListPartitionReassignmentsTopics,
        )

        topics = None
        if partitions is not None:
            topics = [
                ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes)
                for name, indexes in views.by_topic(partitions).items()
            ]
        (answer,) = self.change(ListPartitionReassignmentsRequest(topics=topics))
        raise_for(answer.error_code, answer.error_message)
        return {
            TopicPartition(topic.name, each.partition_index): views.Reassignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in answer.topics
            for each in topic.partitions
        }

    # -- changing ---------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        assignment: Mapping[int, Sequence[int]] = MappingProxyType({}),
        settings: Mapping[str, str | None] = MappingProxyType({}),
        *,
        validate_only: bool = False,
    ) -> views.Created:
        """Create a topic; None takes the brokers' default, an assignment excludes both numbers."""
        from headrace.wire.messages.create_topics import (
            CreatableReplicaAssignment,
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        topic = CreatableTopic(
            name=name,
            num_partitions=partitions or -1,
            replication_factor=replication_factor or -1,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
                for number, replicas in assignment.items()
            ],
            configs=[
                CreatableTopicConfig(name=key, value=value) for key, value in settings.items()
            ],
        )
        request = CreateTopicsRequest(topics=[topic], validate_only=validate_only)
        (result,) = self.change(request, "topics")
        raise_for(result.error_code, result.error_message)
        return views.Created(result.num_partitions, result.replication_factor)

    def grow(self, counts: Mapping[str, int], assignment: Sequence[Sequence[int]] = ()) -> None:
        """Give topics more partitions, the new ones to these brokers if any are named."""
        from headrace.wire.messages.create_partitions import (
            CreatePartitionsAssignment,
            CreatePartitionsRequest,
            CreatePartitionsTopic,
        )

        places = [CreatePartitionsAssignment(broker_ids=list(each)) for each in assignment]
        topics = [
            CreatePartitionsTopic(name=name, count=count, assignments=places or None)
            for name, count in counts.items()
        ]
        request = CreatePartitionsRequest(
            topics=topics, timeout_ms=_TIMEOUT_MS, validate_only=False
        )
        for each in self.change(request, "results"):
            raise_for(each.error_code, each.error_message)

    def delete(self, names: Collection[str]) -> None:
        from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in names],
            topic_names=list(names),
            timeout_ms=_TIMEOUT_MS,
        )
        for each in self.change(request, "responses"):
            raise_for(each.error_code, each.error_message)

    def reassign(
        self,
        wanted: Mapping[TopicPartition, Sequence[int] | None],
        *,
        may_change_factor: bool = True,
    ) -> dict[TopicPartition, Fault]:
        """Give partitions other replicas; None calls a reassignment off. Returns what failed."""
        from headrace.wire.messages.alter_partition_reassignments import (
            AlterPartitionReassignmentsRequest,
            ReassignablePartition,
            ReassignableTopic,
        )

        topics = [
            ReassignableTopic(
                name=name,
                partitions=[
                    ReassignablePartition(
                        partition_index=index,
                        replicas=_listed(wanted[TopicPartition(name, index)]),
                    )
                    for index in indexes
                ],
            )
            for name, indexes in views.by_topic(wanted.keys()).items()
        ]
        (answer,) = self.change(
            AlterPartitionReassignmentsRequest(
                allow_replication_factor_change=may_change_factor, topics=topics
            )
        )
        raise_for(answer.error_code, answer.error_message)
        return {
            TopicPartition(topic.name, each.partition_index): _fault(each)
            for topic in answer.responses
            for each in topic.partitions
            if each.error_code
        }

    def elect(
        self, kind: int, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, Fault | None]:
        """Elect leaders of these partitions, or of all; None where one was elected."""
        from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

        topics = None
        if partitions is not None:
            topics = [
                TopicPartitions(topic=name, partitions=indexes)
                for name, indexes in views.by_topic(partitions).items()
            ]
        answer = self.ask(ElectLeadersRequest(election_type=kind, topic_partitions=topics))
        raise_for(answer.error_code, None)
        return {
            TopicPartition(topic.topic, each.partition_id): _fault(each)
            if each.error_code
            else None
            for topic in answer.replica_election_results
            for each in topic.partition_result
        }

    def alter_settings(self, changes: Iterable[Changes]) -> None:
        """Set and delete settings; those of a broker are sent to it, if it lives."""
        for change in changes:
            wanted = [
                Alteration(key, DELETE if value is None else SET, value)
                for key, value in change.values.items()
            ]
            self.alter(change.kind, {change.name: wanted})

    def alter(
        self,
        kind: int,
        wanted: Mapping[str, Sequence[Alteration]],
        *,
        validate_only: bool = False,
    ) -> None:
        """Change settings of topics, or of one broker, in one request."""
        from headrace.wire.messages.incremental_alter_configs import (
            AlterableConfig,
            AlterConfigsResource,
            IncrementalAlterConfigsRequest,
        )

        resources = [
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    AlterableConfig(
                        name=each.name, config_operation=each.operation, value=each.value
                    )
                    for each in alterations
                ],
            )
            for name, alterations in wanted.items()
        ]
        request = IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
        for each in self.ask_owner(kind, next(iter(wanted), ""), request).responses:
            raise_for(each.error_code, each.error_message)


def _partition(
    each: Any, eligible: Sequence[int] | None, last_eligible: Sequence[int] | None
) -> views.PartitionView:
    return views.PartitionView(
        each.partition_index,
        each.leader_id if each.leader_id >= 0 else None,
        tuple(each.replica_nodes),
        tuple(each.isr_nodes),
        tuple(each.offline_replicas),
        None if eligible is None else tuple(eligible),
        None if last_eligible is None else tuple(last_eligible),
    )


def _listed(replicas: Sequence[int] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _fault(each: Any) -> Fault:
    error = error_named(each.error_code)
    return Fault(error, each.error_message or in_words(error))
