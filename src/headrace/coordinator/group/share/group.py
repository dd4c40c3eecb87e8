"""A share group: the requests, timers and events that concern it (KIP-932).

All of them read the group and return what must happen; `replay` alone changes it. A request that
is refused leaves nothing behind.
"""

from __future__ import annotations

from headrace.coordinator.effects import AnyReply, Effects
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.modern.timers import TimerKey
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share.heartbeat import SESSION, remove_member
from headrace.coordinator.group.share.initialization import forget_topics
from headrace.coordinator.group.share.persistence import group_tombstones
from headrace.coordinator.group.share.roster import ShareRoster
from headrace.coordinator.group.share.target import ASSIGNOR
from headrace.errors import Error
from headrace.wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)


class ShareGroup(ShareRoster):
    """One share group."""

    __slots__ = ()

    def on_timer(self, key: tuple[str, str, str], now_ms: int) -> GroupEffects:
        """Give up a member that was not heard of."""
        _, _, member_id = key
        if member_id not in self.members:
            return Effects()
        return Effects(
            records=remove_member(self, member_id),
            notes=[
                f"Member {member_id} of group {self.group_id} is removed: "
                "it was not heard of for its session timeout"
            ],
        )

    def on_loaded(self, now_ms: int) -> None:
        """The log has been replayed: members have a session timeout to find their coordinator."""
        timeout_ms = self.settings.group_share_session_timeout_ms
        for member_id in self.members:
            self.timers.set(TimerKey(SESSION, self.group_id, member_id), now_ms + timeout_ms)
        self.note_living_topics()

    def on_topics_changed(self, now_ms: int) -> GroupEffects:
        """Forget topics that are gone; the next heartbeat looks at the others."""
        self.is_settled = False
        existed = self.living_topics
        self.note_living_topics()
        return forget_topics(self, existed - self.living_topics)

    def forget_unknown_topics(self) -> GroupEffects:
        """Forget topics that went while nobody led this group. Only for when all are known."""
        return forget_topics(
            self,
            {each for each in self.partitions.topic_ids() if self.topics.topic_name(each) is None},
        )

    def describe(self) -> DescribedGroup:
        """The group as ShareGroupDescribe shows it."""
        return DescribedGroup(
            error_code=Error.NONE,
            group_id=self.group_id,
            group_state=self.state.value,
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            assignor_name=ASSIGNOR,
            members=[
                Member(
                    member_id=member.member_id,
                    rack_id=member.rack_id,
                    member_epoch=member.member_epoch,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    subscribed_topic_names=sorted(member.subscribed_topic_names),
                    assignment=Assignment(
                        topic_partitions=[
                            TopicPartitions(
                                topic_id=topic_id, topic_name=name, partitions=sorted(partitions)
                            )
                            for topic_id, partitions in sorted(member.assigned.items())
                            if (name := self.topics.topic_name(topic_id)) is not None
                        ]
                    ),
                )
                for member in self.members.values()
            ],
        )

    def subscribed_topics(self) -> set[str]:
        """Share groups commit no offsets, so they protect none."""
        return set()

    def build_tombstones(self) -> list[GroupRecord]:
        """What deletes this group."""
        return group_tombstones(self.group_id)

    def abandon(self, error: Error) -> list[AnyReply]:
        """Expect nothing of the members any more; nobody waits here for an answer."""
        for member_id in self.members:
            self.timers.cancel(TimerKey(SESSION, self.group_id, member_id))
        return []
