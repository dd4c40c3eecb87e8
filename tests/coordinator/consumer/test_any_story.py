"""Any order of joins, heartbeats, departures, failures, restarts and changes of topics.

Clients behave as real ones do: they report what they own, give up what they are told to, and join
again when they are fenced. They may be slow, lose answers, or vanish. After every step the stage
compares the group with its log and looks for partitions with two owners; here it is seen as well
that no client believes to own what another one does, and that all come to rest.
"""

from __future__ import annotations

from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.coordinator.group.classic import ClassicGroup
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.modern.state import GroupState
from tests.coordinator.consumer.story import Client, Stage
from tests.generated import examples
from tests.settings import group_settings

NAMES = st.sampled_from(["A", "B", "C", "D"])
CLASSIC_NAMES = st.sampled_from(["K", "L"])
TOPICS = st.sampled_from(["orders", "logs", "later"])
SUBSCRIPTIONS = st.lists(TOPICS, unique=True, max_size=3).map(",".join)
REGEXES = st.sampled_from(["", "o.*", ".*s", "l.*|x"])
FENCED = ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND")
REJOIN = ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION")


class AnyStory(RuleBasedStateMachine):
    """A group with consumers of the new protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(group_settings(group_initial_rebalance_delay_ms=0))
        self.joined: dict[str, Client] = {}
        # Classic clients that have fetched their assignment; only then do they own it.
        self.classic: dict[str, Client] = {}
        self.epochs: dict[str, int] = {}
        self.group_epoch = 0

    @initialize(orders=st.integers(1, 5), logs=st.integers(1, 5))
    def begin(self, orders: int, logs: int) -> None:
        self.stage.perform(f"topic orders {orders}")
        self.stage.perform(f"topic logs {logs}")

    # -- consumers of the new protocol -----------------------------------------------------------

    @rule(name=NAMES, topics=SUBSCRIPTIONS, regex=REGEXES, assignor=st.sampled_from(["", "range"]))
    def join(self, name: str, topics: str, regex: str, assignor: str) -> None:
        words = f"{name} > join topics={topics} regex={regex}"
        words += f" assignor={assignor}" if assignor else ""
        words += " instance=i" if name == "D" else ""
        if self._tell(words) == "ok":
            self.joined[name] = self.stage.clients[name]

    @rule(name=NAMES, owned=st.booleans())
    def heartbeat(self, name: str, owned: bool) -> None:
        if name in self.joined:
            self._beat(name, " owned" if owned else "")

    @rule(name=NAMES, topics=SUBSCRIPTIONS)
    def subscribe(self, name: str, topics: str) -> None:
        if name in self.joined:
            self._beat(name, f" topics={topics}")

    @rule(name=NAMES)
    def heartbeat_whose_answer_is_lost(self, name: str) -> None:
        """The client does not learn what it is given, and so reports what it owned before."""
        if name in self.joined:
            client = self.joined[name]
            before = (client.epoch, dict(client.owned))
            self._beat(name, " owned")
            if name in self.joined:
                client.epoch, client.owned = before

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        if self.joined.pop(name, None) is not None:
            static = " static" if name == "D" else ""
            self._tell(f"{name} > leave{static}")
            self.epochs.pop(name, None)

    @rule(name=NAMES)
    def vanish(self, name: str) -> None:
        """The process is gone; the group learns of it by its session."""
        self.joined.pop(name, None)

    # -- consumers of the classic protocol -------------------------------------------------------

    @rule(name=CLASSIC_NAMES, topics=SUBSCRIPTIONS)
    def classic_join(self, name: str, topics: str) -> None:
        """An eager consumer: it gives up everything before it joins, and gets it by a sync."""
        if isinstance(self.stage.group, ClassicGroup) or not self.stage.consumer_group.members:
            return
        self.classic.pop(name, None)
        if self._tell(f"{name} > classic-join topics={topics}") == "ok":
            self._sync(name)

    def _sync(self, name: str) -> None:
        if isinstance(self.stage.group, ClassicGroup):
            return
        if self._tell(f"{name} > classic-sync") == "ok":
            self.classic[name] = self.stage.clients[name]

    @rule(name=CLASSIC_NAMES)
    def classic_heartbeat(self, name: str) -> None:
        if name in self.classic and isinstance(self.stage.group, ConsumerGroup):
            answer = self._tell(f"{name} > classic-heartbeat")
            if answer in FENCED:
                del self.classic[name]
            elif answer in REJOIN:
                topics = ",".join(self.classic[name].topics)
                self.classic_join(name, topics)

    # -- the world -------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.4, 1, 11, 50]))
    def time_passes(self, seconds: float) -> None:
        """More than a session, and those who still live are taken for dead: they learn of it."""
        self.stage.advance(int(seconds * 1000))

    @rule(topic=TOPICS, partition_count=st.integers(1, 6))
    def create_or_grow(self, topic: str, partition_count: int) -> None:
        if partition_count > self.stage.topics.partition_count(topic):
            self.stage.perform(f"topic {topic} {partition_count}")

    @rule(topic=TOPICS)
    def delete(self, topic: str) -> None:
        if self.stage.topics.topic_id(topic) is not None:
            self.stage.perform(f"no topic {topic}")

    @rule()
    def restart(self) -> None:
        if isinstance(self.stage.group, ConsumerGroup):
            self.stage.restart()

    @rule()
    def rest(self) -> None:
        """Left alone, every member gets its target, and all partitions have an owner."""
        if isinstance(self.stage.group, ClassicGroup):
            return
        self._settle()
        group = self.stage.consumer_group
        assert group.state in (GroupState.STABLE, GroupState.EMPTY), group.state
        if not group.members:
            return
        owned = set()
        for member in group.members.values():
            wanted = group.targets.get(member.member_id, {})
            target = {topic_id: set(p) for topic_id, p in wanted.items()}
            assert {topic_id: set(p) for topic_id, p in member.assigned.items()} == target
            owned |= {(topic_id, each) for topic_id, p in target.items() for each in p}
        topics = self.stage.topics
        assert owned == {
            (topics.topic_id(name), number)
            for name in group.subscribed_topics()
            for number in range(topics.partition_count(name))
        }

    def _settle(self) -> None:
        """Everybody polls, those who were gone are found out, and topics are looked up."""
        for _ in range(12):
            self.stage.advance(11_000)
            for name in list(self.joined):
                self._beat(name, " owned")
            for name in list(self.classic):
                self.classic_heartbeat(name)
            if isinstance(self.stage.group, ClassicGroup):
                # Its members decide for themselves what becomes of it; that is another story.
                self._start_over()
                return

    def _start_over(self) -> None:
        topics = self.stage.topics
        self.stage = Stage(self.stage.settings)
        self.stage.topics = topics
        self.stage.group.topics = topics
        self.joined.clear()
        self.classic.clear()
        self.epochs.clear()
        self.group_epoch = 0

    def _beat(self, name: str, words: str) -> None:
        if self._tell(f"{name} > heartbeat{words}") in FENCED:
            client = self.joined.pop(name)
            client.owned = {}
            client.epoch = 0
            self.epochs.pop(name, None)

    def _tell(self, line: str) -> str:
        if isinstance(self.stage.group, ClassicGroup):
            self._start_over()
            return "over"
        self.stage.perform(line)
        name = line.partition(" ")[0]
        answers = [
            each.partition(" < ")[2]
            for each in self.stage.transcript
            if each.startswith(f"{name} < ")
        ]
        self.stage.transcript.clear()
        if not answers:
            assert name in self.stage.consumer_group.held
            return "held"
        return answers[-1] if answers[-1].isupper() else "ok"

    # -- what must be true -----------------------------------------------------------------------

    @invariant()
    def no_partition_is_owned_twice(self) -> None:
        """Neither by what the group knows, which the stage checks, nor by what clients believe."""
        group = self.stage.group
        if isinstance(group, ClassicGroup):
            return
        owners: dict[tuple[UUID, int], str] = {}
        for name, client in (*self.joined.items(), *self.classic.items()):
            if client.member_id not in group.members:
                continue  # it was taken for dead, and will learn of it
            for topic_id, partitions in client.owned.items():
                for partition in partitions:
                    other = owners.setdefault((topic_id, partition), name)
                    assert other == name, f"{name} and {other} both own {partition}"

    @invariant()
    def epochs_never_go_back(self) -> None:
        """Neither that of the group, nor that of a member for as long as it is one."""
        group = self.stage.group
        if isinstance(group, ClassicGroup):
            return
        assert group.group_epoch >= self.group_epoch
        assert group.group_epoch >= group.assignment_epoch
        self.group_epoch = group.group_epoch
        for name in self.joined:
            if name in group.members:
                epoch = group.members[name].member_epoch
                assert epoch >= self.epochs.get(name, 0)
                self.epochs[name] = epoch


AnyStory.TestCase.settings = settings(
    max_examples=examples(40), stateful_step_count=40, deadline=None
)
TestAnyStory = AnyStory.TestCase
