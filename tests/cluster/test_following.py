"""Following the tree: what events make a broker read, and that every image becomes true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster import layout, store
from headrace.cluster.config_owners import OwnerKind, broker_owner, group_owner, topic_owner
from headrace.cluster.controller import Controllership, decide, take_over
from headrace.cluster.following import changes_from, differences, roots_of
from headrace.cluster.image import (
    NO_CONTROLLER,
    NO_NODE,
    BrokerRegistered,
    BrokerStarted,
    BrokerUnregistered,
    Change,
    Changes,
    ClusterImage,
    ConfigChanged,
    ControllerChanged,
    ControllerEpochChanged,
    FeaturesChanged,
    PartitionChanged,
    PartitionImage,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)
from headrace.cluster.partitions import change_isr, step_down
from headrace.cluster.reassignments import alter
from headrace.cluster.topics import NewTopic, create_partitions, delete_topic
from headrace.cluster.writing import ops_for
from headrace.coordination.memory import MemoryStore
from headrace.coordination.tree import (
    BadVersion,
    Event,
    Node,
    NodeChange,
    NodeEvent,
    NodeExists,
    NoNode,
    NotEmpty,
)
from headrace.errors import ClientFault, CorruptData
from headrace.types import TopicPartition
from tests.cluster.clusters import CLEAN, broker, created, ids
from tests.generated import examples


def changed(*paths: str) -> list[NodeEvent]:
    return [NodeEvent(NodeChange.CHANGED, path) for path in paths]


# -- what must be read -----------------------------------------------------------------------------


def test_events_that_belong_together_are_one_read() -> None:
    """A topic is read once for all its nodes, before its settings; a lone state is read alone."""
    events = changed(
        "/config/topics/t",
        "/brokers/topics/t/partitions/0/state",
        "/brokers/topics/t/partitions",
        "/brokers/topics/t/partitions/0",
        "/brokers/topics/t",
        "/brokers/topics/u/partitions/3/state",
        "/brokers/topics/u/partitions/3/state",
        "/brokers/topics/t",
    )
    assert roots_of(events) == [
        "/brokers/topics/t",
        "/brokers/topics/u/partitions/3/state",
        "/config/topics/t",
    ]


def test_each_kind_of_node_has_its_root() -> None:
    """Brokers, settings, features and the controller; nothing for what no image holds."""
    known = [
        "/brokers/topic_ids/AAAAAAAAAAAAAAAAAAAD6A",
        "/config/brokers/<default>",
        "/config/brokers/1",
        "/config/groups/a%2Fb",
        "/config/users/x",
        "/config/users/x/clients/y",
        "/config/clients/<default>",
        "/config/ips/127.0.0.1",
        "/brokers/ids/1",
        "/feature",
        "/controller_epoch",
        "/controller",
    ]
    nobody = [
        "/",
        "/brokers",
        "/brokers/ids",
        "/brokers/topics",
        "/brokers/seqid",
        "/brokers/epochs",
        "/brokers/topics/t/partitions/0/other",
        "/config",
        "/config/topics",
        "/config/changes/config_change_1",
        "/config/users",
        "/config/clients",
        "/admin/delete_topics/t",
        "/isr_change_notification/isr_change_0000000001",
        "/latest_producer_id_block",
        "/cluster/id",
        "/consumers/g/offsets/t/0",
    ]
    assert sorted(roots_of(changed(*known, *nobody))) == sorted(known)
    assert roots_of([]) == []
    made = NodeEvent(NodeChange.CREATED, "/brokers/topic_ids/AAAAAAAAAAAAAAAAAAAD6A")
    assert roots_of([made]) == []


# -- what it means ---------------------------------------------------------------------------------


class Follower:
    """A broker that hears of the tree's changes, later than they happen."""

    def __init__(self, shared: MemoryStore, broker_id: int) -> None:
        self.id = broker_id
        self.shared = shared
        self.events: list[Event] = []
        self.controllership: Controllership | None = None
        self.tree = shared.session()
        store.initialize(self.tree, lambda: "c")
        self.tree.watch("/", self.events.append)
        self.image = store.load_image(self.tree)
        self.epoch = 0

    def follow(
        self, count: int | None = None, meanwhile: Callable[[], None] | None = None
    ) -> Changes:
        """Read what the next events are about, in two halves if something happens meanwhile."""
        count = len(self.events) if count is None else count
        heard, self.events[:count] = self.events[:count], []
        return self.read(
            roots_of(event for event in heard if isinstance(event, NodeEvent)), meanwhile
        )

    def read(self, roots: Sequence[str], meanwhile: Callable[[], None] | None = None) -> Changes:
        news: Changes = []
        nodes = [self.tree.subtree(root) for root in roots]
        if meanwhile is not None:
            meanwhile()
            later = [self.tree.subtree(root) for root in roots]
            nodes = [torn(*pair) for pair in zip(nodes, later, strict=True)]
        for root, found in zip(roots, nodes, strict=True):
            changes = changes_from(self.image, root, found)
            self.image.apply(changes)
            news += changes
        return news

    def begin_life(self) -> None:
        self.epoch = store.next_broker_epoch(self.tree, self.id, [f"dir-{self.id}"])

    def register(self) -> None:
        directories = (f"dir-{self.id}",)
        mine = replace(broker(self.id), epoch=self.epoch, directories=directories)
        store.register(self.tree, mine, now_ms=5)

    def make_true(self, decide_on: Callable[[ClusterImage], Iterable[Change]]) -> Changes:
        """Decide and write; when somebody was faster, read what was written about and try again."""
        for _ in range(8):
            changes = list(decide_on(self.image))
            if not changes:
                return []
            ops = ops_for(self.image, changes, controllership=self.controllership)
            try:
                self.tree.multi(ops)
            except (BadVersion, NodeExists, NoNode, NotEmpty) as fault:
                if fault.path == layout.CONTROLLER_EPOCH:
                    self.controllership = None
                    return []
                self.read(roots_of(changed(*(op.path for op in ops))))
                continue
            self.image.apply(changes)
            return changes
        return []


def torn(before: dict[str, Node], after: dict[str, Node]) -> dict[str, Node]:
    """Nodes are read one by one, parents first: the later ones may be newer, or gone."""
    paths = sorted({*before, *after}, key=lambda path: (path.count("/"), path))
    half = len(paths) // 2
    found = {path: before[path] for path in paths[:half] if path in before}
    return found | {path: after[path] for path in paths[half:] if path in after}


@pytest.fixture
def pair() -> tuple[Follower, Follower]:
    """Two registered brokers who know of each other; the first one does things."""
    shared = MemoryStore()
    one, two = Follower(shared, 1), Follower(shared, 2)
    for each in (one, two):
        each.begin_life()
        each.register()
    for each in (one, two):
        each.follow()
    return one, two


@pytest.mark.spec("book1:Z-02", "book2:J-02", "slides:B33", "book1:Z-01")
def test_brokers_come_and_go(pair: tuple[Follower, Follower]) -> None:
    """A registration, its end, and a new life under the same id are heard of."""
    one, two = pair
    three = Follower(one.shared, 3)
    three.begin_life()
    three.register()
    assert [type(each) for each in two.follow()] == [
        ConfigChanged,
        BrokerStarted,
        BrokerRegistered,
    ]
    one.shared.expire_session(three.tree)
    assert two.follow() == [BrokerUnregistered(3)]
    one.tree.delete("/brokers/ids/1")
    one.begin_life()
    one.register()
    assert two.follow() == [
        BrokerStarted(1, 2),
        BrokerUnregistered(1),
        BrokerRegistered(two.image.brokers[1]),
    ]
    assert two.image.brokers[1].epoch == one.epoch == 2
    assert two.follow() == []


def test_a_life_is_over_when_the_next_one_begins(pair: tuple[Follower, Follower]) -> None:
    """A broker restarts faster than its session expires: nobody takes the old one for alive."""
    one, two = pair
    again = one.shared.session()
    assert store.next_broker_epoch(again, 1, ["dir-1"]) == 2
    assert two.follow() == [BrokerStarted(1, 2), BrokerUnregistered(1)]
    assert two.read(["/brokers/ids/1"]) == []
    assert two.image == store.load_image(two.tree)
    assert 1 not in two.image.brokers
    later = replace(broker(1), epoch=2, directories=("dir-1",))
    store.register(again, later, now_ms=6)
    assert two.follow() == [BrokerRegistered(later)]
    with pytest.raises(NodeExists, match="registered with other directories"):
        store.next_broker_epoch(one.shared.session(), 1, ["dir-9"])
    assert two.follow() == []


def test_nobody_enters_an_isr_for_what_an_earlier_life_had(
    pair: tuple[Follower, Follower],
) -> None:
    """The leader saw broker 2 catch up; it has begun another life since, and may lack records."""
    one, two = pair
    one.make_true(lambda image: [created(image, NewTopic("t", assignments=[(0, [1, 2])]))])
    one.make_true(lambda image: [one_isr(image, (1,))])
    joined = one_isr(one.image, (1, 2))
    assert store.next_broker_epoch(two.tree, 2, ["dir-2"]) == 2
    ops = ops_for(one.image, [joined])
    with pytest.raises(BadVersion, match="/brokers/epochs/2"):
        one.tree.multi(ops)
    one.read(roots_of(changed(*(op.path for op in ops))))
    assert 2 not in one.image.brokers
    with pytest.raises(ClientFault, match="not registered"):
        change_isr(one.image, "t", 0, (1, 2))


def test_a_registration_that_was_read_too_late_is_no_news(pair: tuple[Follower, Follower]) -> None:
    """Epochs never go back; an address that changes within an epoch is no new life."""
    _, two = pair
    path = "/brokers/ids/1"
    known = two.image.brokers[1]
    old = Node(layout.encode_broker(replace(known, epoch=0), 5), 0)
    assert changes_from(replace(two.image, broker_epochs={}), path, {path: old}) == []
    moved = replace(known, rack="r")
    node = Node(layout.encode_broker(moved, 5), 0)
    assert changes_from(two.image, path, {path: node}) == [BrokerRegistered(moved)]


@pytest.mark.spec("book2:J-06", "book1:Z-03")
def test_topics_are_followed_from_creation_to_deletion(pair: tuple[Follower, Follower]) -> None:
    """Made, configured, grown, led by another, moved, deleted: each is one change elsewhere."""
    one, two = pair
    request = NewTopic("t", assignments=[(0, [1, 2])], configs={"retention.ms": "1"})
    one.make_true(lambda image: [created(image, request)])
    made, settings_ = two.follow()
    assert isinstance(made, TopicCreated)
    assert settings_ == ConfigChanged(topic_owner("t"), {"retention.ms": "1"}, 0)
    one.make_true(lambda image: [ConfigChanged(topic_owner("t"), {"retention.ms": "2"})])
    assert two.follow() == [ConfigChanged(topic_owner("t"), {"retention.ms": "2"}, 1)]
    one.make_true(lambda image: [create_partitions(image, "t", 2, [[2, 1]])])
    (grown,) = two.follow()
    assert isinstance(grown, PartitionsAdded)
    assert grown.existing == 1
    one.make_true(lambda image: [one_isr(image, (1,))])
    assert two.follow() == [PartitionChanged("t", 0, PartitionImage((1, 2), (1,), 1, 0, 1), 1)]
    one.make_true(lambda image: alter(image, {HERE: [1]}, may_change_factor=True)[0])
    moving = PartitionImage((1, 2), (1,), 1, 0, 2, removing=(2,))
    assert two.follow() == [PartitionChanged("t", 0, moving, 2)]
    one.make_true(lambda image: [delete_topic(image, name="t")])
    (deleted,) = two.follow()
    assert isinstance(deleted, TopicDeleted)
    assert two.image == one.image == store.load_image(one.tree)


HERE = TopicPartition("t", 0)


def one_isr(image: ClusterImage, isr: tuple[int, ...]) -> PartitionChanged:
    change = change_isr(image, "t", 0, isr)
    assert change is not None
    return change


def test_a_topic_made_again_is_another_topic(pair: tuple[Follower, Follower]) -> None:
    """Deleted and created under the same name between two looks: both are told, in this order."""
    one, two = pair
    for start in (2000, 3000):
        request = NewTopic("t", assignments=[(0, [1])], configs={"retention.ms": str(start)})
        if "t" in one.image.topics:
            one.make_true(lambda image: [delete_topic(image, name="t")])
        one.make_true(lambda image: [created(image, request, new_id=ids(start))])  # noqa: B023
        if start == 2000:
            two.follow()
    old = two.image.topics["t"]
    news = two.follow()
    assert [type(each) for each in news] == [TopicDeleted, TopicCreated, ConfigChanged]
    assert news[0] == TopicDeleted(old)
    assert two.image.topics["t"].id == UUID(int=3000)
    assert two.image == store.load_image(one.tree)


def test_a_topic_made_again_is_seen_by_its_node_alone(pair: tuple[Follower, Follower]) -> None:
    """Nothing of the old topic clings to the new one, not even settings of the same version."""
    one, two = pair
    for start in (2000, 3000):
        request = NewTopic("t", assignments=[(0, [1])], configs={"retention.ms": str(start)})
        one.make_true(lambda image: [TopicDeleted(each) for each in image.topics.values()])
        one.make_true(lambda image: [created(image, request, new_id=ids(start))])  # noqa: B023
        two.read(["/brokers/topics/t"])
        assert two.image.configs[OwnerKind.TOPIC] == {}
        two.read(["/config/topics/t"])
        assert two.image.configs[OwnerKind.TOPIC] == {"t": {"retention.ms": str(start)}}
    assert two.image == store.load_image(one.tree)


def test_half_of_a_topic_says_nothing_yet(pair: tuple[Follower, Follower]) -> None:
    """A state that is missing was deleted, or comes: its own event will tell."""
    one, two = pair
    one.make_true(lambda image: [created(image, NewTopic("t", 2, 1))])
    nodes = one.tree.subtree("/brokers/topics/t")
    del nodes["/brokers/topics/t/partitions/1/state"]
    assert changes_from(two.image, "/brokers/topics/t", nodes) == []
    # A state of a topic, or of a partition, that nobody has told of yet.
    state = "/brokers/topics/t/partitions/0/state"
    assert changes_from(two.image, state, one.tree.subtree(state)) == []
    two.follow()
    assert changes_from(two.image, "/brokers/topics/t", nodes) == []
    far = "/brokers/topics/t/partitions/7/state"
    assert changes_from(two.image, far, {far: nodes[state]}) == []
    assert changes_from(two.image, state, {}) == []


def test_a_move_that_is_seen_in_halves_is_put_together(pair: tuple[Follower, Follower]) -> None:
    """The state says who leads, the topic's node who has replicas: each is as new as its node."""
    one, two = pair
    one.make_true(lambda image: [created(image, NewTopic("t", assignments=[(0, [1, 2])]))])
    two.follow()
    root, state = "/brokers/topics/t", "/brokers/topics/t/partitions/0/state"
    old = one.tree.subtree(root)
    one.make_true(lambda image: alter(image, {HERE: [2]}, may_change_factor=True)[0])
    new = one.tree.subtree(root)
    two.image.apply(changes_from(two.image, root, {**old, state: new[state]}))
    assert two.image.partition("t", 0) == PartitionImage((1, 2), (1, 2), 1, 0, 1)
    (completed,) = changes_from(two.image, root, new)
    two.image.apply([completed])
    assert two.image == one.image
    # And the other way round, and too late.
    fresh = store.load_image(one.tree)
    for nodes in ({**new, state: old[state]}, {**old, state: new[state]}, old, new):
        assert changes_from(fresh, root, nodes) == []


def test_a_topic_rewritten_as_it_was_has_another_version(pair: tuple[Follower, Follower]) -> None:
    """Somebody's tool wrote the same again: who decides next must know the version."""
    one, two = pair
    one.make_true(lambda image: [created(image, NewTopic("t", 1, 1))])
    two.follow()
    one.tree.set("/brokers/topics/t", one.tree.get("/brokers/topics/t").data)
    two.follow()
    assert two.image.topics["t"].version == 1
    assert two.make_true(lambda image: [create_partitions(image, "t", 2)])


def test_settings_features_and_controllers_are_followed(pair: tuple[Follower, Follower]) -> None:
    """Settings of brokers and groups, levels of features, elections."""
    one, two = pair
    group = {"consumer.session.timeout.ms": "50000"}
    one.make_true(
        lambda image: [
            ConfigChanged(broker_owner(None), {"log.retention.ms": "1"}),
            ConfigChanged(broker_owner(2), {"log.retention.ms": "2"}),
            ConfigChanged(group_owner("a/b"), group),
            FeaturesChanged({}, 1),
        ]
    )
    assert two.follow() == [
        ConfigChanged(broker_owner(None), {"log.retention.ms": "1"}, 1),
        ConfigChanged(broker_owner(2), {"log.retention.ms": "2"}, 1),
        ConfigChanged(group_owner("a/b"), group, 0),
        FeaturesChanged({}, 1),
    ]
    assert store.elect_controller(one.tree, 1, now_ms=5) is not None
    assert two.follow() == [ControllerEpochChanged(1), ControllerChanged(1)]
    one.make_true(lambda image: [ConfigChanged(group_owner("a/b"), {})])
    one.shared.expire_session(one.tree)
    assert two.follow() == [
        ConfigChanged(group_owner("a/b"), {}, NO_NODE),
        BrokerUnregistered(1),
        ControllerChanged(NO_CONTROLLER),
    ]
    assert two.image == store.load_image(two.tree)


def test_settings_of_a_group_that_were_made_anew(pair: tuple[Follower, Follower]) -> None:
    """The node went with the last setting and counts from 0 again: the version may look older."""
    one, two = pair
    for value in ("1", "2", "3"):
        one.make_true(lambda image, value=value: [ConfigChanged(group_owner("g"), {"k": value})])  # type: ignore[misc]
    two.follow()
    for value in ("4", "5"):
        one.make_true(lambda image: [ConfigChanged(group_owner("g"), {})])
        one.make_true(lambda image, value=value: [ConfigChanged(group_owner("g"), {"k": value})])  # type: ignore[misc]
        two.follow()
        assert two.image.configs[OwnerKind.GROUP] == {"g": {"k": value}}
        assert two.image == store.load_image(one.tree)


def test_settings_may_be_heard_of_before_their_topic(pair: tuple[Follower, Follower]) -> None:
    """The topic is then made with them; without it they go when their node goes."""
    one, two = pair
    request = NewTopic("t", assignments=[(0, [1])], configs={"retention.ms": "1"})
    one.make_true(lambda image: [created(image, request)])
    two.read(["/config/topics/t"])
    (made,) = two.read(["/brokers/topics/t"])
    assert isinstance(made, TopicCreated)
    assert (made.configs, made.config_version) == ({"retention.ms": "1"}, 0)
    assert two.read(["/config/topics/t"]) == []
    assert two.image == store.load_image(one.tree)
    three = Follower(one.shared, 3)
    three.image = ClusterImage("c")
    three.read(["/config/topics/t"])
    one.make_true(lambda image: [delete_topic(image, name="t")])
    assert three.read(["/config/topics/t"]) == [ConfigChanged(topic_owner("t"), {}, NO_NODE)]
    assert (three.image.configs[OwnerKind.TOPIC], three.image.config_versions) == ({}, {})


@pytest.mark.parametrize(
    ("root", "data"),
    [
        ("/brokers/topics/t", b"{}"),
        ("/brokers/topics/t/partitions/0/state", b"nonsense"),
        ("/brokers/ids/2", b"[]"),
        ("/brokers/ids/x", b"{}"),
        ("/brokers/epochs/x", b""),
        ("/brokers/topic_ids/x", b"t"),
        ("/config/topics/t", b"{}"),
        ("/config/brokers/x", b'{"config":{}}'),
        ("/controller", b"{}"),
        ("/controller_epoch", b"many"),
        ("/feature", b"{}"),
    ],
)
def test_damaged_nodes_name_themselves(
    pair: tuple[Follower, Follower], root: str, data: bytes
) -> None:
    """The caller says so, and goes on with what is true as far as it knows."""
    one, two = pair
    one.make_true(lambda image: [created(image, NewTopic("t", 1, 1))])
    two.follow()
    nodes = {**one.tree.subtree("/"), root: Node(data, 99)}
    with pytest.raises(CorruptData, match=root):
        changes_from(two.image, root, nodes)


@pytest.mark.spec("book2:J-05")
def test_everything_read_anew_is_compared(pair: tuple[Follower, Follower]) -> None:
    """After a gap in the events: from any image to the fresh one, and nothing if they agree."""
    one, two = pair
    three = Follower(one.shared, 3)
    for each in ("a", "b", "c"):
        one.make_true(lambda image, each=each: [created(image, NewTopic(each, 2, 2))])  # type: ignore[misc]
    three.begin_life()
    three.register()
    two.follow()
    one.follow()
    one.make_true(lambda image: [delete_topic(image, name="a")])
    request = NewTopic("a", assignments=[(0, [1])], configs={"retention.ms": "9"})
    one.make_true(lambda image: [created(image, request, new_id=ids(4000))])
    one.make_true(lambda image: [delete_topic(image, name="b")])
    one.make_true(lambda image: [create_partitions(image, "c", 4)])
    one.make_true(lambda image: [ConfigChanged(topic_owner("c"), {"retention.ms": "9"})])
    one.make_true(
        lambda image: [ConfigChanged(group_owner("g"), {"k": "v"}), FeaturesChanged({}, 1)]
    )
    one.make_true(lambda image: step_down(image, 2))
    one.tree.delete("/brokers/ids/1")
    one.begin_life()
    one.register()
    one.shared.expire_session(three.tree)
    store.elect_controller(one.tree, 1, now_ms=5)
    fresh = store.load_image(two.tree)
    news = differences(two.image, fresh)
    two.image.apply(news)
    assert two.image == fresh
    assert differences(two.image, fresh) == []
    assert {type(each).__name__ for each in news} == {
        "TopicDeleted",
        "TopicCreated",
        "PartitionsAdded",
        "PartitionChanged",
        "ConfigChanged",
        "FeaturesChanged",
        "BrokerUnregistered",
        "BrokerRegistered",
        "BrokerStarted",
        "ControllerChanged",
        "ControllerEpochChanged",
    }
    assert two.follow() == []


# -- any order of things ---------------------------------------------------------------------------

NAMES = ["t", "u"]
KEYS = ["retention.ms", "segment.ms"]


class World:
    """Three brokers on one tree, each of which hears of the others when chance lets it."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.shared = MemoryStore()
        self.members = [Follower(self.shared, broker_id) for broker_id in range(3)]
        for member in self.members:
            member.begin_life()
            member.register()
        for member in self.members:
            member.follow()
        self.made = 0

    def draw(self, strategy: st.SearchStrategy[int]) -> int:
        return self.data.draw(strategy)

    def act(self, member: Follower) -> None:
        """One decision on what this broker knows, true or not any more."""
        name = self.data.draw(st.sampled_from(NAMES))
        kind = self.draw(st.integers(0, 9))
        if kind == 0:
            member.make_true(lambda image: self.create(image, name))
        elif kind == 1 and self.draw(st.booleans()):
            member.make_true(
                lambda image: [delete_topic(image, name=name)] if name in image.topics else []
            )
        elif kind == 2:
            member.make_true(lambda image: self.grow(image, name))
        elif kind in (3, 4):
            member.make_true(lambda image: self.shuffle_isr(image, name, member.id))
        elif kind == 5:
            target = self.data.draw(
                st.none() | st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True)
            )
            place = TopicPartition(name, self.draw(st.integers(0, 3)))
            member.make_true(lambda image: alter(image, {place: target}, may_change_factor=True)[0])
        elif kind == 6:
            configs = {self.data.draw(st.sampled_from(KEYS)): str(self.draw(st.integers(1, 9)))}
            member.make_true(
                lambda image: (
                    [ConfigChanged(topic_owner(name), configs)] if name in image.topics else []
                )
            )
        elif kind == 7:
            value = self.draw(st.integers(0, 3))
            configs = {"k": str(value)} if value else {}
            member.make_true(lambda image: [ConfigChanged(group_owner("g"), configs)])
        elif kind == 8:
            self.restart(member)
        else:
            self.control(member)

    def create(self, image: ClusterImage, name: str) -> Changes:
        if name in image.topics or not image.brokers:
            return []
        self.made += 1
        factor = min(2, len(image.brokers))
        request = NewTopic(name, 2, factor, configs={"retention.ms": str(self.made)})
        return [created(image, request, new_id=ids(10_000 + self.made))]

    def grow(self, image: ClusterImage, name: str) -> Changes:
        topic = image.topics.get(name)
        enough = topic is None or len(topic.partitions) > 3
        if topic is None or enough or len(topic.partitions[0].target) > len(image.brokers):
            return []
        return [create_partitions(image, name, len(topic.partitions) + 1)]

    def shuffle_isr(self, image: ClusterImage, name: str, leader: int) -> Changes:
        changes: Changes = []
        for number, partition in enumerate(
            image.topics[name].partitions if name in image.topics else ()
        ):
            if partition.leader == leader:
                others = [each for each in partition.replicas if each in image.brokers]
                isr = [leader, *others[: self.draw(st.integers(0, 3))]]
                change = change_isr(image, name, number, isr)
                changes += [] if change is None else [change]
        return changes

    def restart(self, member: Follower) -> None:
        """Its session ends; a new one steps down, registers and reads everything."""
        self.shared.expire_session(member.tree)
        member.controllership = None
        member.tree = self.shared.session()
        member.events.clear()
        member.tree.watch("/", member.events.append)
        member.begin_life()
        member.image.apply(differences(member.image, store.load_image(member.tree)))
        member.make_true(lambda image: step_down(image, member.id))
        member.register()

    def control(self, member: Follower) -> None:
        if member.controllership is None:
            member.controllership = store.elect_controller(member.tree, member.id, now_ms=5)
        if member.controllership is not None:
            news = member.make_true(lambda image: take_over(image, CLEAN))
            for _ in range(5):
                made = news
                news = member.make_true(lambda image: decide(image, made, CLEAN))  # noqa: B023


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_image_becomes_true(data: st.DataObject) -> None:
    """Any decisions by three brokers, heard late, together and in halves: all end up the same."""
    world = World(data)
    for _ in range(data.draw(st.integers(1, 25))):
        member = data.draw(st.sampled_from(world.members))
        match data.draw(st.integers(0, 3)):
            case 0:
                member.follow(data.draw(st.integers(0, len(member.events))))
            case 1:
                other = data.draw(
                    st.sampled_from([each for each in world.members if each is not member])
                )
                count = data.draw(st.integers(0, len(member.events)))
                member.follow(count, meanwhile=lambda other=other: world.act(other))  # type: ignore[misc]
            case _:
                world.act(member)
    truth = store.load_image(world.members[0].tree)
    for member in world.members:
        stale = store.load_image(member.tree)
        assert differences(stale, truth) == []
        while member.events:
            member.follow(data.draw(st.integers(1, len(member.events))))
        assert member.image == truth
