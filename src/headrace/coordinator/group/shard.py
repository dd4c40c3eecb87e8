"""One partition of `__consumer_offsets`: its groups, their offsets, and who answers which request.

A group is of one kind at a time; classic and consumer groups may change into one another when
their members do, share groups stay what they are. The shard finds the group, makes one where Kafka
would, and hands the request on; offsets it keeps itself, because groups of either kind have some.

Groups enter the shard when their records are replayed. Only a group that a handler has just made or
converted, and whose records are on their way, is there before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final
from uuid import UUID

from headrace.coordinator.effects import AnyReply, Caller, Effects, ProducerIdentity
from headrace.coordinator.group import (
    classic,
    consumer,
    listing,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from headrace.coordinator.group.answers import UNKNOWN_MEMBER, join_refused, sync_refused
from headrace.coordinator.group.classic import ClassicGroup
from headrace.coordinator.group.classic.leave import BATCH_SINCE
from headrace.coordinator.group.classic.rebalance import prepare_rebalance
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.consumer.group import heartbeat_error
from headrace.coordinator.group.consumer.heartbeat import check_request
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.expiry import expired_records, group_tombstones
from headrace.coordinator.group.listing import Group
from headrace.coordinator.group.modern.member import JOIN_EPOCH
from headrace.coordinator.group.offsets import CommittedOffsets, UsedTopic
from headrace.coordinator.group.records import (
    ConsumerGroupKey,
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
    OffsetCommitKey,
    OffsetCommitValue,
)
from headrace.coordinator.group.settings import GroupSettings, Overrides
from headrace.coordinator.group.share import ShareGroup, ShareGroups
from headrace.coordinator.group.share.offsets import delete_group
from headrace.coordinator.group.share_records import ShareGroupKey
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, CorruptData, Error
from headrace.types import ZERO_UUID
from headrace.wire.messages import consumer_group_describe, describe_groups
from headrace.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from headrace.wire.messages.delete_groups import DeletableGroupResult
from headrace.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from headrace.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from headrace.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from headrace.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from headrace.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

EXPIRY_TIMER: Final = ("offsets-expiry", "")
TIMERS: Final = {ClassicGroup: "classic-", ConsumerGroup: "consumer-", ShareGroup: "share-"}
# One batch must not outgrow the limit of the topic; what is left is found the next time.
MOST_TOMBSTONES: Final = 2_000

GROUP_NOT_FOUND_SINCE: Final = 9  # of OffsetCommit (KIP-848)


class GroupShard:
    """The state of one partition."""

    def __init__(
        self,
        settings: GroupSettings,
        topics: Topics,
        new_uuid: Callable[[], UUID],
        overrides: Overrides = lambda _: {},
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.timers = Timers()
        self.groups: dict[str, Group] = {}
        self.offsets = CommittedOffsets()
        self.share = ShareGroups(self.groups, self._settings_of, self.timers, topics)
        self._new_uuid = new_uuid
        self._overrides = overrides
        # Topics with offsets that existed when we last looked; others may just not be known yet.
        self._living_topics: set[UsedTopic] = set()

    # -- the log -------------------------------------------------------------------------------

    def replay(
        self, record: GroupRecord, *, offset: int, transaction: ProducerIdentity | None
    ) -> None:
        """Apply a record that stands at `offset`, live or while the partition is loaded."""
        match record:
            case (OffsetCommitKey() as key, OffsetCommitValue() | None as committed):
                if committed is not None and key.group not in self.groups:
                    # Who only stores offsets has no other record: a group without protocol type.
                    self.groups[key.group] = self._new_classic(key.group)
                producer_id = None if transaction is None else transaction.producer_id
                self.offsets.replay(key, committed, offset, producer_id)
            case (GroupMetadataKey(group=group_id), GroupMetadataValue() | None as generation):
                self._replay_classic(group_id, generation)
            case (OffsetCommitKey() | GroupMetadataKey() as key, _):
                raise CorruptData(f"{type(key).__name__} with the value of another record")
            case (key, _):
                if isinstance(key, ShareGroupKey):
                    self.share.replay(key, record)
                else:
                    self._replay_consumer(key, record)

    def _replay_classic(self, group_id: str, value: GroupMetadataValue | None) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                group.replay_metadata(None, group.state_since_ms)
                del self.groups[group_id]
            return
        if not isinstance(group, ClassicGroup):
            group = self.groups[group_id] = self._new_classic(group_id)
        group.replay_metadata(value, value.current_state_timestamp)

    def _replay_consumer(self, key: ConsumerGroupKey, record: GroupRecord) -> None:
        group = self.groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if record.value is None:
                return
            group = self.groups[key.group_id] = self._new_consumer(key.group_id)
        group.replay(record)
        if isinstance(key, ConsumerGroupMetadataKey) and record.value is None:
            group.abandon(Error.NONE)
            del self.groups[key.group_id]

    def replay_end_transaction(self, producer: ProducerIdentity, commit: bool) -> None:
        """A marker was written to this partition: what the producer had pending is settled."""
        self.offsets.replay_end_transaction(producer.producer_id, commit)

    def _new_classic(self, group_id: str) -> ClassicGroup:
        return ClassicGroup(group_id, self.settings, self.timers, self._new_uuid)

    def _new_consumer(self, group_id: str) -> ConsumerGroup:
        settings = self._settings_of(group_id)
        return ConsumerGroup(group_id, settings, self.timers, self.topics, self._new_uuid)

    def _settings_of(self, group_id: str) -> GroupSettings:
        return self.settings.for_group(self._overrides(group_id))

    # -- events --------------------------------------------------------------------------------

    def on_loaded(self, now_ms: int) -> GroupEffects:
        """The whole partition has been replayed: from now on time passes for its groups."""
        for group in self.groups.values():
            group.on_loaded(now_ms)
        self._living_topics = self._existing_topics()
        self.timers.set(EXPIRY_TIMER, now_ms + self.settings.offsets_retention_check_interval_ms)
        return Effects()

    def on_timer(self, key: Hashable, now_ms: int) -> GroupEffects:
        """A timer is due, be it of the shard or of one of its groups."""
        if key == EXPIRY_TIMER:
            return self._on_expiry_timer(now_ms)
        assert isinstance(key, tuple), "timers of groups are tuples"
        kind, group_id, *_ = key
        group = self.groups.get(group_id)
        # What was due at the same moment may have ended the group, or made another kind of it.
        if group is None or not kind.startswith(TIMERS[type(group)]):
            return Effects()
        return self._settled(group, group.on_timer(key, now_ms), now_ms)

    def _on_expiry_timer(self, now_ms: int) -> GroupEffects:
        effects = self.expire_offsets(now_ms)
        is_cut_off = len(effects.records) >= MOST_TOMBSTONES
        delay_ms = 0 if is_cut_off else self.settings.offsets_retention_check_interval_ms
        self.timers.set(EXPIRY_TIMER, now_ms + delay_ms)
        return effects

    def expire_offsets(self, now_ms: int) -> GroupEffects:
        """Forget the offsets that nobody needs any more, and groups that have none left."""
        effects: GroupEffects = Effects()
        for group in self.groups.values():
            if isinstance(group, ShareGroup):
                effects.extend(group.forget_unknown_topics())
                continue
            effects.records += expired_records(
                group,
                self.offsets,
                retention_ms=self.settings.offsets_retention_ms,
                now_ms=now_ms,
            )
            if len(effects.records) >= MOST_TOMBSTONES:
                break
        return effects

    def on_topics_changed(self, now_ms: int) -> GroupEffects:
        """Topics came, grew or went: offsets of those that are gone go as well."""
        effects: GroupEffects = Effects()
        living = self._existing_topics()
        deleted = self._living_topics - living
        self._living_topics = living
        if deleted:
            effects.records += self.offsets.tombstones_of_topics(deleted)
        for group in self.groups.values():
            if not isinstance(group, ClassicGroup):
                effects.extend(group.on_topics_changed(now_ms))
        return effects

    def _existing_topics(self) -> set[UsedTopic]:
        found = set()
        for name, topic_id in self.offsets.used_topics():
            current_id = self.topics.topic_id(name)
            if current_id is not None and topic_id in (current_id, ZERO_UUID):
                found.add((name, topic_id))
        return found

    def abandon(self, error: Error) -> list[AnyReply]:
        """The partition is led elsewhere now: tell all who wait, and expect nothing any more."""
        return [reply for group in self.groups.values() for reply in group.abandon(error)]

    # -- members -------------------------------------------------------------------------------

    def handle_join_group(
        self, request: JoinGroupRequest, caller: Caller[JoinGroupResponse], now_ms: int
    ) -> GroupEffects:
        """JoinGroup. A classic group begins with its first member."""
        group_id = request.group_id
        if not group_id:
            error = caller.reply(join_refused(Error.INVALID_GROUP_ID, request.member_id))
            return Effects(replies=[error])
        group = self.groups.get(group_id)
        if isinstance(group, ShareGroup):
            error = caller.reply(join_refused(Error.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER))
            return Effects(replies=[error])
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return self._settled(group, group.handle_join(request, caller, now_ms), now_ms)
        if isinstance(group, ClassicGroup):
            return classic.handle_join(group, request, caller, now_ms)
        if request.member_id != UNKNOWN_MEMBER:
            error = caller.reply(join_refused(self._why_not_joined(request), request.member_id))
            return Effects(replies=[error])
        new_group = self._new_classic(group_id)
        effects = classic.handle_join(new_group, request, caller, now_ms)
        if effects.records:
            if group is not None:
                group.abandon(Error.NONE)
                effects.records[:0] = group_tombstones(group)
            self.groups[group_id] = new_group
        return effects

    def _why_not_joined(self, request: JoinGroupRequest) -> Error:
        shortest_ms = self.settings.group_min_session_timeout_ms
        longest_ms = self.settings.group_max_session_timeout_ms
        if shortest_ms <= request.session_timeout_ms <= longest_ms:
            return Error.UNKNOWN_MEMBER_ID
        return Error.INVALID_SESSION_TIMEOUT

    def handle_sync_group(
        self, request: SyncGroupRequest, caller: Caller[SyncGroupResponse], now_ms: int
    ) -> GroupEffects:
        """SyncGroup."""
        group, error = self._group_of_member(request.group_id)
        if group is None or group.is_empty:
            return Effects(replies=[caller.reply(sync_refused(error or Error.UNKNOWN_MEMBER_ID))])
        if isinstance(group, ClassicGroup):
            return classic.handle_sync(group, request, caller, now_ms)
        return self._settled(group, group.handle_sync(request, caller, now_ms), now_ms)

    def handle_heartbeat(
        self, request: HeartbeatRequest, caller: Caller[HeartbeatResponse], now_ms: int
    ) -> GroupEffects:
        """Heartbeat of a member of the classic protocol, in whichever group it is."""
        group, error = self._group_of_member(request.group_id)
        if group is None:
            return Effects(replies=[caller.reply(HeartbeatResponse(error_code=error))])
        if isinstance(group, ClassicGroup):
            return classic.handle_heartbeat(group, request, caller, now_ms)
        effects = group.handle_classic_heartbeat(request, caller, now_ms)
        return self._settled(group, effects, now_ms)

    def handle_leave_group(
        self, request: LeaveGroupRequest, caller: Caller[LeaveGroupResponse], now_ms: int
    ) -> GroupEffects:
        """LeaveGroup."""
        group, error = self._group_of_member(request.group_id)
        if isinstance(group, ClassicGroup):
            return classic.handle_leave(group, request, caller, now_ms)
        if group is not None:
            return self._settled(group, group.handle_leave(request, caller, now_ms), now_ms)
        response = LeaveGroupResponse(error_code=error)
        if error is Error.UNKNOWN_MEMBER_ID and caller.version >= BATCH_SINCE:
            members = [
                MemberResponse(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=error,
                )
                for member in request.members
            ]
            response = LeaveGroupResponse(error_code=Error.NONE, members=members)
        return Effects(replies=[caller.reply(response)])

    def _group_of_member(self, group_id: str) -> tuple[ClassicGroup | ConsumerGroup | None, Error]:
        """The group that a member says it is in, or what to tell the member."""
        if not group_id:
            return None, Error.INVALID_GROUP_ID
        group = self.groups.get(group_id)
        if group is None or isinstance(group, ShareGroup):
            return None, Error.UNKNOWN_MEMBER_ID
        return group, Error.NONE

    def handle_consumer_group_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller[ConsumerGroupHeartbeatResponse],
        now_ms: int,
    ) -> GroupEffects:
        """ConsumerGroupHeartbeat. Who joins makes a consumer group of whatever there is."""
        group = self.groups.get(request.group_id)
        settings = self._settings_of(request.group_id)
        if isinstance(group, ConsumerGroup):
            group.settings = settings
            return self._settled(group, group.handle_heartbeat(request, caller, now_ms), now_ms)
        try:
            check_request(request, caller.version, settings.group_consumer_assignors)
            if request.member_epoch != JOIN_EPOCH or isinstance(group, ShareGroup):
                why = listing.why_not_found(request.group_id, group, "consumer")
                raise ClientFault(Error.GROUP_ID_NOT_FOUND, why)
        except ClientFault as fault:
            return Effects(replies=[caller.reply(heartbeat_error(fault))])
        new_group = self._new_consumer(request.group_id)
        if group is None:
            effects = new_group.handle_heartbeat(request, caller, now_ms)
        else:
            effects = consumer.upgrade(group, new_group, request, caller, now_ms)
        if effects.records:
            self.groups[request.group_id] = new_group
        return effects

    def _settled(self, group: Group, effects: GroupEffects, now_ms: int) -> GroupEffects:
        """Go on with a classic group if that is what the handler has made of a consumer group."""
        if not isinstance(group, ConsumerGroup) or group.downgrade is None:
            return effects
        downgrade = group.downgrade
        successor = self._new_classic(group.group_id)
        generation = effects.records[-1].value
        assert isinstance(generation, GroupMetadataValue), "a downgrade ends with a classic group"
        successor.replay_metadata(generation, now_ms)
        for member_id, protocols in downgrade.protocols.items():
            successor.set_protocols(successor.members[member_id], protocols)
        successor.on_loaded(now_ms)
        if downgrade.rebalance_reason is not None:
            prepare_rebalance(successor, now_ms, effects, downgrade.rebalance_reason)
        self.groups[group.group_id] = successor
        return effects

    # -- offsets -------------------------------------------------------------------------------

    def handle_offset_commit(
        self, request: OffsetCommitRequest, caller: Caller[OffsetCommitResponse], now_ms: int
    ) -> GroupEffects:
        """OffsetCommit of a member, or of anybody while the group has none."""
        effects = offset_commit.handle_offset_commit(
            request,
            caller,
            self.topics,
            check=lambda: self._check_commit(request, caller.version, now_ms),
            metadata_max_size=self.settings.offset_metadata_max_bytes,
            now_ms=now_ms,
        )
        return self._noting_topics(effects)

    def _check_commit(
        self, request: OffsetCommitRequest, version: int, now_ms: int
    ) -> offset_commit.PartitionCheck | None:
        generation_id = request.generation_id_or_member_epoch
        if request.group_id not in self.groups and generation_id >= 0:
            if version >= GROUP_NOT_FOUND_SINCE:
                raise ClientFault(Error.GROUP_ID_NOT_FOUND)
            raise ClientFault(Error.ILLEGAL_GENERATION)
        return self._check_committer(
            request, generation_id, is_transactional=False, version=version, now_ms=now_ms
        )

    def handle_txn_offset_commit(
        self, request: TxnOffsetCommitRequest, caller: Caller[TxnOffsetCommitResponse], now_ms: int
    ) -> GroupEffects:
        """TxnOffsetCommit: the same within a transaction."""
        effects = offset_commit.handle_txn_offset_commit(
            request,
            caller,
            self.topics,
            check=lambda: self._check_txn_commit(request, caller.version, now_ms),
            metadata_max_size=self.settings.offset_metadata_max_bytes,
            now_ms=now_ms,
        )
        return self._noting_topics(effects)

    def _check_txn_commit(
        self, request: TxnOffsetCommitRequest, version: int, now_ms: int
    ) -> offset_commit.PartitionCheck | None:
        if not request.group_id:
            raise ClientFault(Error.INVALID_GROUP_ID)
        if request.group_id not in self.groups and request.generation_id >= 0:
            raise ClientFault(Error.ILLEGAL_GENERATION)
        try:
            return self._check_committer(
                request,
                request.generation_id,
                is_transactional=True,
                version=version,
                now_ms=now_ms,
            )
        except ClientFault as fault:
            # Producers know generations, but not the epochs of consumer groups.
            if fault.error is Error.STALE_MEMBER_EPOCH:
                raise ClientFault(Error.ILLEGAL_GENERATION, fault.message) from fault
            raise

    def _check_committer(
        self,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        generation_id: int,
        *,
        is_transactional: bool,
        version: int,
        now_ms: int,
    ) -> offset_commit.PartitionCheck | None:
        group = self.groups.get(request.group_id)
        who = (request.member_id, request.group_instance_id, generation_id)
        if isinstance(group, ShareGroup):
            raise listing.without_offsets(group)
        if isinstance(group, ClassicGroup):
            classic.check_offset_commit(
                group, *who, is_transactional=is_transactional, now_ms=now_ms
            )
        elif group is not None:
            return consumer.check_offset_commit(
                group, *who, is_transactional=is_transactional, version=version
            )
        return None

    def _noting_topics(self, effects: GroupEffects) -> GroupEffects:
        """The topics of new offsets exist: if they are gone one day, the offsets go as well."""
        for key, value in effects.records:
            assert isinstance(key, OffsetCommitKey), "a commit writes offsets"
            assert isinstance(value, OffsetCommitValue), "a commit writes no tombstones"
            self._living_topics.add((key.topic, value.topic_id))
        return effects

    def handle_offset_fetch(
        self,
        request: OffsetFetchRequestGroup,
        caller: Caller[OffsetFetchResponseGroup],
        now_ms: int,
        *,
        require_stable: bool,
    ) -> GroupEffects:
        """OffsetFetch of one group; the answer is that group's part of the response."""
        group = self.groups.get(request.group_id)
        try:
            if isinstance(group, ShareGroup):
                raise listing.without_offsets(group)
            if isinstance(group, ConsumerGroup):
                consumer.check_offset_fetch(group, request.member_id, request.member_epoch)
            answer = offset_fetch.fetched(
                request,
                self.offsets,
                self.topics,
                version=caller.version,
                require_stable=require_stable,
            )
        except ClientFault as fault:
            answer = offset_fetch.refused(request, fault.error, caller.version)
        return Effects(replies=[caller.reply(answer)])

    def handle_offset_delete(
        self, request: OffsetDeleteRequest, caller: Caller[OffsetDeleteResponse], now_ms: int
    ) -> GroupEffects:
        """OffsetDelete."""
        group = self.groups.get(request.group_id)
        return offset_delete.handle_offset_delete(request, caller, group, self.offsets, self.topics)

    # -- administration ------------------------------------------------------------------------

    def handle_describe_group(
        self, group_id: str, caller: Caller[describe_groups.DescribedGroup], now_ms: int
    ) -> GroupEffects:
        """DescribeGroups, of one group; the answer is that group's part of the response."""
        group = self.groups.get(group_id)
        answer = listing.described_classic(group_id, group, caller.version)
        return Effects(replies=[caller.reply(answer)])

    def handle_consumer_group_describe(
        self, group_id: str, caller: Caller[consumer_group_describe.DescribedGroup], now_ms: int
    ) -> GroupEffects:
        """ConsumerGroupDescribe, of one group; the answer is its part of the response."""
        answer = listing.described_consumer(group_id, self.groups.get(group_id))
        return Effects(replies=[caller.reply(answer)])

    def handle_delete_group(
        self, group_id: str, caller: Caller[DeletableGroupResult], now_ms: int
    ) -> GroupEffects:
        """DeleteGroups, of one group that has no members; its offsets go with it."""
        group = self.groups.get(group_id)
        records: list[GroupRecord] = []
        if group is None:
            error = Error.GROUP_ID_NOT_FOUND
        elif not group.is_empty:
            error = Error.NON_EMPTY_GROUP
        elif isinstance(group, ShareGroup) and (effects := delete_group(group, caller)):
            return effects
        else:
            error = Error.NONE
            records = self.offsets.tombstones_of_group(group_id) + group_tombstones(group)
        answer = DeletableGroupResult(group_id=group_id, error_code=error)
        return Effects(records=records, replies=[caller.reply(answer)])
