"""Any order of joins, departures, failures, restarts, changes of topics and answers that come late.

After every step the group is compared with one that is loaded from its log, and nobody may have
been given a partition whose state the share coordinator has not begun. In the end all come to rest:
every partition that anybody wants has readers, and exactly those that want it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.coordinator.group.share import ShareGroup
from headrace.errors import Error
from headrace.types import SharePartitionKey
from tests.coordinator.group.share.stage import ShareStage
from tests.coordinator.known_topics import KnownTopics
from tests.generated import examples

NAMES = st.sampled_from(["A", "B", "C"])
TOPICS = st.lists(st.sampled_from(["orders", "logs", "later"]), unique=True, min_size=1)
VOLATILE = {
    "settings",
    "timers",
    "topics",
    "beginning",
    "ending",
    "retry_at_ms",
    "living_topics",
    "is_settled",
}


def snapshot(group: ShareGroup) -> dict[str, Any]:
    """All that is in the log of a group."""
    slots = [slot for each in type(group).__mro__ for slot in getattr(each, "__slots__", ())]
    return {slot: getattr(group, slot) for slot in slots if slot not in VOLATILE}


class AnyStory(RuleBasedStateMachine):
    """A share group, its members, and a share coordinator that is sometimes slow."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = ShareStage(KnownTopics(orders=2, logs=1))
        self.wanted: dict[str, set[str]] = {}

    def _after(self, name: str, error_code: int) -> None:
        if error_code:
            assert Error(error_code) in (Error.UNKNOWN_MEMBER_ID, Error.GROUP_ID_NOT_FOUND)
            self.wanted.pop(name, None)

    @rule(name=NAMES, topics=TOPICS)
    def join(self, name: str, topics: list[str]) -> None:
        assert not self.stage.join(name, *topics).error_code
        self.wanted[name] = set(topics)

    @rule(name=NAMES)
    def heartbeat(self, name: str) -> None:
        if name in self.wanted:
            self._after(name, self.stage.heartbeat(name).error_code)

    @rule(name=NAMES, topics=TOPICS)
    def subscribe(self, name: str, topics: list[str]) -> None:
        if name in self.wanted:
            answer = self.stage.heartbeat(name, *topics)
            self.wanted[name] = set(topics)
            self._after(name, answer.error_code)

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        if self.wanted.pop(name, None):
            self.stage.leave(name)

    @rule(duration_ms=st.sampled_from([100, 1_000, 30_000]))
    def wait(self, duration_ms: int) -> None:
        self.stage.pass_time(duration_ms)

    @rule()
    def restart(self) -> None:
        """What was asked for is still on its way, and may arrive; nobody hears of the outcome."""
        self.stage.restart()

    @precondition(lambda self: self.stage.asked)
    @rule(data=st.data(), error=st.sampled_from([Error.NONE, Error.NONE, Error.NETWORK_EXCEPTION]))
    def carry_out(self, data: st.DataObject, error: Error) -> None:
        """In any order; a failure may have happened all the same."""
        change = data.draw(st.sampled_from(self.stage.asked))
        if error is not Error.NONE and data.draw(st.booleans()):
            self.stage.execute(change)
        self.stage.carry_out(change, failing=error)

    @rule(count=st.integers(1, 3))
    def grow(self, count: int) -> None:
        topics = self.stage.topics
        topic_id = topics.topic_id("orders")
        assert topic_id is not None
        topics._topics["orders"] = (topic_id, max(count, topics.partition_count("orders")))
        self.stage.change_topics()

    @rule()
    def come_and_go(self) -> None:
        if self.stage.topics.topic_id("later") is None:
            self.stage.topics.create("later", 1)
        else:
            self.stage.topics.delete("later")
        self.stage.change_topics()

    @invariant()
    def the_log_is_the_group(self) -> None:
        group = self.stage.shard.groups.get("g")
        if group is None:
            return
        other = ShareStage(self.stage.topics)
        other.log = self.stage.log
        other.restart()
        assert snapshot(other.group) == snapshot(self.stage.group)

    @invariant()
    def only_what_has_begun_is_assigned(self) -> None:
        group = self.stage.shard.groups.get("g")
        if not isinstance(group, ShareGroup):
            return
        for topic_id, share in group.partitions.initialized.items():
            if self.stage.topics.topic_name(topic_id) is not None:
                for number in share.partitions:
                    assert SharePartitionKey("g", topic_id, number) in self.stage.states.states

    def teardown(self) -> None:
        """Without failures all come to rest."""
        stage = self.stage
        for _ in range(6):
            stage.carry_out_all()
            stage.pass_time(1_000)
            for name in list(self.wanted):
                self._after(name, stage.heartbeat(name).error_code)
        for name, topics in self.wanted.items():
            existing = {each for each in topics if stage.topics.topic_id(each) is not None}
            assert set(stage.assigned.get(name, {})) <= existing
        for topic in set().union(*self.wanted.values()):
            readers = [stage.assigned.get(name, {}).get(topic, []) for name in self.wanted]
            assert {number for each in readers for number in each} == set(
                range(stage.topics.partition_count(topic))
            )


TestAnyStory = AnyStory.TestCase
TestAnyStory.settings = settings(max_examples=examples(30), stateful_step_count=30, deadline=None)
