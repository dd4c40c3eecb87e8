"""What decisions write: versions on everything, fenced controllers, no update lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from headrace.cluster import layout, store
from headrace.cluster.config_changes import AlterOp, ConfigOp, incremental_alter_topic
from headrace.cluster.config_owners import OwnerKind, broker_owner, group_owner, topic_owner
from headrace.cluster.controller import Controllership
from headrace.cluster.following import changes_from, differences, roots_of
from headrace.cluster.image import (
    NO_CONTROLLER,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ClusterImage,
    ConfigChanged,
    ControllerChanged,
    ControllerEpochChanged,
    FeaturesChanged,
    PartitionChanged,
    PartitionsAdded,
    TopicCreated,
)
from headrace.cluster.partitions import change_isr, elect_preferred, with_leader
from headrace.cluster.reassignments import advance, alter
from headrace.cluster.topics import NewTopic, create_partitions, delete_topic
from headrace.cluster.writing import chunks, ops_for
from headrace.coordination.memory import MemoryStore, MemoryTree
from headrace.coordination.tree import (
    BadVersion,
    Check,
    Create,
    Delete,
    Node,
    NodeChange,
    NodeEvent,
    NodeExists,
    NoNode,
    Op,
    Set,
    TreeError,
)
from headrace.errors import InvariantViolated
from headrace.types import TopicPartition
from tests.cluster.clusters import broker, created, ids, partition_of


class Member:
    """A broker's half of the tree: a session, and an image that is as old as its last look."""

    def __init__(self, shared: MemoryStore, broker_id: int) -> None:
        self.tree: MemoryTree = shared.session()
        store.initialize(self.tree, lambda: "c")
        store.register(self.tree, broker(broker_id), now_ms=5)
        self.image = store.load_image(self.tree)
        self.controllership: Controllership | None = None

    def look(self) -> ClusterImage:
        self.image.apply(differences(self.image, store.load_image(self.tree)))
        return self.image

    def write(self, *changes: Change) -> None:
        self.tree.multi(ops_for(self.image, changes, controllership=self.controllership))
        self.image.apply(changes)

    def make_true(self, decide: Callable[[ClusterImage], Change]) -> int:
        """Decide and write until nobody else was faster; how often it was refused."""
        for refused in range(10):
            try:
                self.write(decide(self.image))
                return refused
            except (BadVersion, NodeExists, NoNode):
                self.look()
        raise AssertionError("refused ten times")


@pytest.fixture
def shared() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def members(shared: MemoryStore) -> list[Member]:
    """Three brokers, a topic of two partitions on all of them."""
    found = [Member(shared, broker_id) for broker_id in range(3)]
    found[0].look()
    request = NewTopic("t", assignments=[(0, [0, 1, 2]), (1, [1, 2, 0])])
    found[0].write(created(found[0].image, request))
    for member in found:
        member.look()
    return found


# -- versions --------------------------------------------------------------------------------------


def test_every_write_names_what_it_knows(members: list[Member]) -> None:
    """No Set goes out without a version; a topic is checked by its id."""
    image = members[0].look()
    changes: list[Change] = [
        ConfigChanged(topic_owner("t"), {"retention.ms": "1"}),
        ConfigChanged(topic_owner("t"), {"retention.ms": "2"}),
        ConfigChanged(broker_owner(None), {"log.retention.ms": "1"}),
        ConfigChanged(broker_owner(1), {"log.retention.ms": "1"}),
        ConfigChanged(group_owner("g"), {"consumer.session.timeout.ms": "50000"}),
        FeaturesChanged({}, 1),
        create_partitions(image, "t", 3),
        PartitionChanged("t", 0, with_leader(partition_of(image), 1, (1, 2))),
        BrokerRegistered(broker(7)),
        BrokerUnregistered(7),
        ControllerChanged(1),
        ControllerEpochChanged(7),
    ]
    ops = ops_for(image, changes)
    assert all(op.version >= 0 for op in ops if isinstance(op, Set | Check))
    checks = [op.path for op in ops if isinstance(op, Check)]
    assert checks == [layout.topic_id_path(image.topics["t"].id)]
    members[0].tree.multi(ops)
    image.apply(changes[:-4])
    assert image == store.load_image(members[0].tree)


@pytest.mark.parametrize(
    "change",
    [
        ConfigChanged(topic_owner("t"), {"retention.ms": "2"}),
        ConfigChanged(broker_owner(None), {"log.retention.ms": "2"}),
        ConfigChanged(broker_owner(1), {"log.retention.ms": "2"}),
        ConfigChanged(group_owner("g"), {"consumer.session.timeout.ms": "2"}),
        ConfigChanged(group_owner("g"), {}),
        FeaturesChanged({}, 1),
    ],
    ids=lambda change: type(change).__name__,
)
def test_who_has_not_heard_of_a_change_cannot_undo_it(
    members: list[Member], change: Change
) -> None:
    """Two brokers decide on the same image: the second is refused, sees the first, and succeeds."""
    one, two, _ = members
    group = ConfigChanged(group_owner("g"), {"consumer.session.timeout.ms": "1"})
    one.write(group)
    two.look()
    one.write(change)
    with pytest.raises((BadVersion, NoNode)):
        two.write(change)
    two.look()
    assert two.image == store.load_image(one.tree)
    if not isinstance(change, FeaturesChanged):
        two.write(change)
    assert two.image == store.load_image(one.tree)


@pytest.mark.spec("book1:Z-05")
def test_concurrent_alterations_are_all_kept(members: list[Member]) -> None:
    """Two brokers set one key each of the same topic on images that know nothing of each other."""
    keys = ["retention.ms", "segment.ms", "retention.bytes", "max.message.bytes"]
    refused = 0
    for turn, key in enumerate(keys):
        op = ConfigOp(key, AlterOp.SET, "60000")
        member = members[turn % 2]
        refused += member.make_true(lambda image, op=op: incremental_alter_topic(image, "t", [op]))  # type: ignore[misc]
    assert refused == 3
    assert store.load_image(members[2].tree).configs[OwnerKind.TOPIC]["t"] == dict.fromkeys(
        keys, "60000"
    )


@pytest.mark.spec("admin:RC-28")
def test_no_broker_is_a_master(members: list[Member]) -> None:
    """Without any controller, each broker makes topics; the tree alone decides who was first."""
    for number, member in enumerate(members):
        request = NewTopic(f"by-{number}", 1, 1)
        member.make_true(lambda image, r=request, n=number: created(image, r, new_id=ids(600 + n)))  # type: ignore[misc]
    fresh = store.load_image(members[0].tree)
    assert fresh.controller_id == NO_CONTROLLER
    assert {"by-0", "by-1", "by-2"} < fresh.topics.keys()


@pytest.mark.spec("book1:Z-09")
def test_the_cluster_outlives_its_brokers(shared: MemoryStore, members: list[Member]) -> None:
    """Every broker is gone; what they had agreed on is in the tree, and a newcomer finds it."""
    members[1].write(ConfigChanged(topic_owner("t"), {"retention.ms": "1"}))
    shrunk = change_isr(members[1].image, "t", 1, [1])
    assert shrunk is not None
    members[1].write(shrunk)
    known = members[1].image
    for member in members:
        shared.expire_session(member.tree)
    found = store.load_image(shared.session())
    assert found.brokers == {}
    assert (found.topics, found.configs[OwnerKind.TOPIC]) == (
        known.topics,
        known.configs[OwnerKind.TOPIC],
    )


@pytest.mark.spec("admin:RC-26")
def test_a_single_broker_is_its_own_controller(shared: MemoryStore) -> None:
    """Nobody else could be: it wins the election, and its decisions count."""
    alone = Member(shared, 7)
    alone.controllership = store.elect_controller(alone.tree, 7, now_ms=5)
    assert alone.look().controller_id == 7
    alone.write(created(alone.image, NewTopic("t", 1, 1)))
    assert partition_of(store.load_image(alone.tree)).leader == 7


def test_growth_and_moves_meet_at_the_topic(members: list[Member]) -> None:
    """Both rewrite the topic's node: the second sees the first, and neither is lost."""
    one, two, _ = members
    place = TopicPartition("t", 0)

    def move(image: ClusterImage) -> Change:
        (change,), _ = alter(image, {place: [1, 0]}, may_change_factor=True)
        return change

    assert one.make_true(lambda image: create_partitions(image, "t", 4)) == 0
    assert two.make_true(move) == 1
    assert one.make_true(lambda image: create_partitions(image, "t", 5)) == 1
    fresh = store.load_image(one.tree)
    assert len(fresh.topics["t"].partitions) == 5
    assert partition_of(fresh).removing == (2,)
    assert one.image == fresh


def test_many_moves_write_the_topic_once(members: list[Member]) -> None:
    """One node, one version, however many of its partitions move together."""
    member = members[0]
    wanted = {TopicPartition("t", number): [2, 1] for number in range(2)}
    changes, _ = alter(member.image, wanted, may_change_factor=True)
    ops = ops_for(member.image, changes)
    assert [op.path for op in ops if isinstance(op, Set)] == [
        "/brokers/topics/t/partitions/0/state",
        "/brokers/topics/t/partitions/1/state",
        "/brokers/topics/t",
    ]
    member.write(*changes)
    assert json.loads(member.tree.get("/brokers/topics/t").data) == {
        "version": 3,
        "topic_id": layout.id_text(member.image.topics["t"].id),
        "partitions": {"0": [2, 1, 0], "1": [2, 1, 0]},
        "adding_replicas": {},
        "removing_replicas": {"0": [0], "1": [0]},
    }
    assert member.image == store.load_image(member.tree)


def test_a_decision_on_another_state_is_a_bug(members: list[Member]) -> None:
    """Epochs of our own decisions follow each other without a gap."""
    image = members[0].image
    leap = replace(partition_of(image), partition_epoch=5)
    with pytest.raises(InvariantViolated, match="epoch 0 is followed by 5"):
        ops_for(image, [PartitionChanged("t", 0, leap)])
    with pytest.raises(InvariantViolated, match="nothing is followed by 5"):
        ops_for(image, [PartitionChanged("x", 0, leap)])
    with pytest.raises(InvariantViolated, match="features: epoch 0 is followed by 2"):
        ops_for(image, [FeaturesChanged({}, 2)])


def test_a_later_topic_of_the_same_name_is_left_alone(members: list[Member]) -> None:
    """Its nodes have the paths and versions of the old one; its id tells them apart."""
    one, two, _ = members
    one.write(delete_topic(one.image, name="t"))
    request = NewTopic("t", assignments=[(0, [2, 1, 0]), (1, [2, 1, 0])])
    one.write(created(one.image, request, new_id=ids(7000)))
    shrink = change_isr(two.image, "t", 0, [0, 1])
    assert shrink is not None
    for change in (
        shrink,
        ConfigChanged(topic_owner("t"), {"retention.ms": "1"}),
        create_partitions(two.image, "t", 5),
        delete_topic(two.image, name="t"),
    ):
        ops = ops_for(two.image, [change])
        with pytest.raises(NoNode, match="topic_ids"):
            two.tree.multi(ops)
    assert store.load_image(two.tree) == one.image
    # What a refused decision reads anew is enough to see it.
    news: list[Change] = []
    for root in roots_of(NodeEvent(NodeChange.CHANGED, op.path) for op in ops):
        news += changes_from(two.image, root, two.tree.subtree(root))
        two.image.apply(news)
    assert two.image == one.image


# -- the controller --------------------------------------------------------------------------------


@pytest.mark.spec("book2:J-09", "admin:RC-25", "book1:R-15", "admin:RC-23")
def test_a_deposed_controller_changes_nothing(shared: MemoryStore, members: list[Member]) -> None:
    """Its session expired while it slept; when it wakes another is the controller."""
    one, two, three = members
    one.controllership = store.elect_controller(one.tree, 0, now_ms=5)
    assert one.controllership is not None
    one.write(PartitionChanged("t", 0, with_leader(partition_of(one.image), 1, (1, 2, 0))))
    one.tree.delete("/controller")  # as if its session had expired
    two.look()
    two.controllership = store.elect_controller(two.tree, 1, now_ms=6)
    one.look()
    before = three.look()
    for change in (
        elect_preferred(one.image, "t", 0),
        ConfigChanged(topic_owner("t"), {}),
        created(one.image, NewTopic("u", 1, 1)),
    ):
        with pytest.raises(BadVersion, match="/controller_epoch"):
            one.write(change)
    one.tree.create("/isr_change_notification/isr_change_", b"", sequential=True)
    with pytest.raises(BadVersion, match="/controller_epoch"):
        store.clear_isr_changes(one.tree, one.controllership)
    assert store.load_image(three.tree) == before
    two.write(elect_preferred(two.image, "t", 0))
    state = json.loads(two.tree.get("/brokers/topics/t/partitions/0/state").data)
    assert state["controller_epoch"] == 2


def test_the_epoch_is_checked_before_everything(members: list[Member]) -> None:
    """Whoever is refused at the first operation knows that it is not the controller any more."""
    held = Controllership(0, 3, epoch_version=3)
    (first, *_) = ops_for(
        members[0].image, [ConfigChanged(topic_owner("t"), {})], controllership=held
    )
    assert first == Check("/controller_epoch", 3)


def test_two_candidates_at_once() -> None:
    """The loser of a race is refused, also when the winner is gone again."""
    shared = MemoryStore()

    class Slow(MemoryTree):
        rival: MemoryTree | None = None

        def multi(self, ops: Sequence[Op]) -> None:
            if self.rival is not None:
                assert store.elect_controller(self.rival, 2, now_ms=5) is not None
                self.rival.delete("/controller")
                self.rival = None
            super().multi(ops)

    slow = Slow(shared, session_id=99)
    store.initialize(slow, lambda: "c")
    slow.rival = shared.session()
    assert store.elect_controller(slow, 1, now_ms=5) is None
    again = store.elect_controller(slow, 1, now_ms=5)
    assert again == Controllership(1, 2, epoch_version=2)


# -- changes of the ISR ----------------------------------------------------------------------------


@pytest.mark.spec("admin:RC-13", "book2:J-10", "slides:B17")
def test_a_changed_isr_leaves_a_note_for_the_controller(members: list[Member]) -> None:
    """One numbered node for all that a leader writes together; the controller removes them."""
    one, two, _ = members
    held = store.elect_controller(two.tree, 1, now_ms=5)
    assert held is not None
    changes = [
        change_isr(one.image, "t", 0, [0, 2]),
        change_isr(one.image, "t", 1, [1, 0]),
    ]
    one.write(*(change for change in changes if change is not None))
    (name,) = one.tree.children("/isr_change_notification")
    assert name == "isr_change_0000000000"
    assert json.loads(one.tree.get(f"/isr_change_notification/{name}").data) == {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}],
    }
    assert json.loads(one.tree.get("/brokers/topics/t/partitions/0/state").data)["isr"] == [0, 2]
    assert store.clear_isr_changes(two.tree, held) == 1
    assert store.clear_isr_changes(two.tree, held) == 0


def test_nobody_enters_an_isr_who_is_no_replica_any_more(members: list[Member]) -> None:
    """A leader has read the state after a move, and not yet who the replicas are: it is refused."""
    leader, other, _ = members
    place = TopicPartition("t", 0)
    out = change_isr(leader.image, "t", 0, [0, 1])
    assert out is not None
    leader.write(out)
    other.look()
    began, _ = alter(other.image, {place: [0, 1]}, may_change_factor=True)
    other.write(*began)
    leader.look()
    done = advance(partition_of(other.image), alive=[0, 1, 2])
    assert (done.replicas, done.isr) == ((0, 1), (0, 1))
    other.write(PartitionChanged("t", 0, done))
    root = layout.state_path("t", 0)
    leader.image.apply(changes_from(leader.image, root, leader.tree.subtree(root)))
    assert partition_of(leader.image).replicas == (0, 1, 2), "read at another moment"
    joins = change_isr(leader.image, "t", 0, [0, 1, 2])
    assert joins is not None
    with pytest.raises(BadVersion):
        leader.write(joins)
    leader.look()
    assert partition_of(leader.image) == done


def test_only_a_changed_isr_is_noted(members: list[Member]) -> None:
    """Elections are the controller's own doing, moves and topics are seen by everybody."""
    one, _, _ = members
    one.write(PartitionChanged("t", 0, with_leader(partition_of(one.image), 1, (1, 2))))
    moved, _ = alter(one.image, {TopicPartition("t", 1): [2, 1]}, may_change_factor=True)
    one.write(*moved)
    one.controllership = store.elect_controller(one.tree, 0, now_ms=5)
    one.write(PartitionChanged("t", 0, with_leader(partition_of(one.image), 1, (1,))))
    assert one.tree.children("/isr_change_notification") == []


# -- parts -----------------------------------------------------------------------------------------


def test_a_long_list_is_cut_anywhere(members: list[Member]) -> None:
    """Each part is written and applied before the next; the end is the same."""
    one, two, three = members
    requests = [NewTopic(f"t{number}", 7, 2) for number in range(12)]
    changes: list[Change] = [
        created(one.image, each, new_id=ids(8000 + 10 * n)) for n, each in enumerate(requests)
    ]
    parts = list(chunks(changes, max_ops=40))
    assert [len(part) for part in parts] == [2] * 6
    for part in parts:
        one.write(*part)
    wanted = {TopicPartition(f"t{n}", p): [2, 1, 0] for n in range(12) for p in range(7)}
    moves, _ = alter(one.image, wanted, may_change_factor=True)
    for part in chunks(moves, max_ops=30):
        assert len(ops_for(one.image, part)) <= 30 + 2 * len(part)
        one.write(*part)
    assert store.load_image(three.tree) == one.image == two.look()
    assert list(chunks([], max_ops=40)) == []


def test_a_huge_topic_grows_up_in_parts(members: list[Member]) -> None:
    """What does not fit into one transaction is made small and grows; each part is whole."""
    one, two, _ = members
    huge = created(one.image, NewTopic("huge", 1003, 2, configs={"retention.ms": "1"}))
    sizes = []
    for part in chunks(
        [ConfigChanged(topic_owner("t"), {}), huge, ConfigChanged(topic_owner("t"), {})], 200
    ):
        ops = ops_for(one.image, part)
        assert len(ops) <= 204
        one.write(*part)
        topic = two.look().topics.get("huge")
        sizes.append(0 if topic is None else len(topic.partitions))
    assert sizes[-1] == 1003
    assert sizes == sorted(sizes)
    assert one.image == two.image == store.load_image(two.tree)
    assert one.image.topics["huge"].partitions == huge.topic.partitions
    assert isinstance(huge, TopicCreated)
    small = created(one.image, NewTopic("small", 98, 2), new_id=ids(9000))
    assert [list(part) for part in chunks([small], 200)] == [[small]]
    grown = [each for part in chunks([huge], 200) for each in part]
    assert all(isinstance(each, PartitionsAdded) for each in grown[1:])


# -- registration ----------------------------------------------------------------------------------


def test_a_registration_of_the_same_directories_is_an_earlier_life(shared: MemoryStore) -> None:
    """The directories are locked, so whoever was registered with them is dead: it is replaced."""
    old, new = shared.session(), shared.session()
    store.initialize(old, lambda: "c")
    mine = replace(broker(1), directories=("dir-a", "dir-b"))
    store.register(old, mine, now_ms=5)
    later = replace(mine, epoch=9, directories=("dir-b", "dir-a"))
    store.register(new, later, now_ms=6)
    assert store.load_image(new).brokers[1] == later
    shared.expire_session(old)
    assert new.get("/brokers/ids/1").ephemeral
    other = replace(mine, directories=("dir-c",))
    for stranger in (other, replace(mine, directories=())):
        with pytest.raises(NodeExists, match="/brokers/ids/1"):
            store.register(shared.session(), stranger, now_ms=7)


def test_a_namesake_may_vanish_while_we_look(shared: MemoryStore) -> None:
    """The old registration expires between two calls: ours is made all the same."""
    old = shared.session()
    store.initialize(old, lambda: "c")
    mine = replace(broker(1), directories=("dir-a",))
    store.register(old, mine, now_ms=5)

    class Late(MemoryTree):
        def get(self, path: str) -> Node:
            if path == "/brokers/ids/1":
                shared.expire_session(old)
            return super().get(path)

    late = Late(shared, session_id=77)
    store.register(late, mine, now_ms=6)
    assert late.exists("/brokers/ids/1")


def test_topics_of_an_older_tree_get_their_ids(members: list[Member]) -> None:
    """A tree that was made before there were nodes by id is brought up to date at the start."""
    tree = members[0].tree
    path = layout.topic_id_path(members[0].image.topics["t"].id)
    tree.multi([Delete(path), Delete(layout.TOPIC_IDS)])
    store.initialize(tree, lambda: "another")
    assert tree.get(path).data == b"t"
    members[0].write(ConfigChanged(topic_owner("t"), {"retention.ms": "1"}))


def test_a_topic_that_vanishes_while_it_is_read_is_not_loaded(
    shared: MemoryStore, members: list[Member]
) -> None:
    """Nodes are read one by one: half a topic is read again, and then it is gone."""
    one, two, _ = members
    whole = one.tree.subtree("/brokers")
    half = {path: node for path, node in whole.items() if not path.endswith("/1/state")}

    class Torn(MemoryTree):
        def subtree(self, path: str) -> dict[str, Node]:
            if path == "/brokers":
                two.write(delete_topic(two.image, name="t"))
                return half
            return super().subtree(path)

    torn = Torn(shared, session_id=55)
    loaded = store.load_image(torn)
    assert loaded.topics == {}
    torn.close()


def test_refused_transactions_leave_no_trace(members: list[Member]) -> None:
    """All operations or none, also for the notes and the topic's node."""
    one, two, _ = members
    two.write(ConfigChanged(topic_owner("t"), {"retention.ms": "1"}))
    shrink = change_isr(one.image, "t", 0, [0])
    assert shrink is not None
    before = one.tree.subtree("/")
    with pytest.raises(TreeError):
        one.write(shrink, ConfigChanged(topic_owner("t"), {}))
    assert one.tree.subtree("/") == before
    assert isinstance(ops_for(one.image, [shrink])[-1], Create)
