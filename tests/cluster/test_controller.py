"""The controller: what it decides when brokers come and go, and what it never does."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster.config_owners import broker_owner, topic_owner
from headrace.cluster.controller import Policy, balance_leaders, decide, take_over
from headrace.cluster.image import (
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ClusterImage,
    ConfigChanged,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
)
from headrace.cluster.partitions import replicas_lost, shut_down, step_down
from headrace.cluster.reassignments import alter
from headrace.cluster.topics import NewTopic, create_partitions
from headrace.types import NO_LEADER, TopicPartition
from tests.cluster.clusters import (
    CLEAN,
    UNCLEAN,
    bring,
    broker,
    cluster,
    created,
    hear,
    lose,
    partition_of,
    put,
    with_topics,
)
from tests.generated import examples

THIRTEEN = [
    (2, 0, 1),
    (0, 1, 2),
    (1, 2, 0),
    (2, 1, 0),
    (0, 2, 1),
    (1, 0, 2),
    (2, 0, 1),
    (0, 1, 2),
    (1, 2, 0),
    (2, 1, 0),
    (0, 2, 1),
    (1, 0, 2),
    (2, 0, 1),
]


def thirteen() -> ClusterImage:
    """The topic of the training slides: 13 partitions, replication factor 3, brokers 0 to 2."""
    return with_topics(cluster(), NewTopic("t", assignments=list(enumerate(THIRTEEN))))


def pair(*, isr: tuple[int, ...] = (103, 104)) -> ClusterImage:
    image = with_topics(cluster([103, 104]), NewTopic("t", assignments=[(0, [103, 104])]))
    if isr != (103, 104):
        put(image, isr=isr)
    return image


# -- losing and finding brokers --------------------------------------------------------------------


@pytest.mark.spec("slides:B14", "slides:B13", "admin:RC-20", "book1:R-03", "book2:J-07")
def test_thirteen_partitions_before_and_after_losing_a_broker() -> None:
    """Broker 0 dies: the leaders and ISRs of all 13 lines, as the slides print them."""
    image = thirteen()
    assert [(each.leader, each.isr) for each in image.topics["t"].partitions] == [
        (replicas[0], replicas) for replicas in THIRTEEN
    ]
    lose(image, 0)
    assert [(each.leader, each.isr) for each in image.topics["t"].partitions] == [
        (2, (2, 1)),
        (1, (1, 2)),
        (1, (1, 2)),
        (2, (2, 1)),
        (2, (2, 1)),
        (1, (1, 2)),
        (2, (2, 1)),
        (1, (1, 2)),
        (1, (1, 2)),
        (2, (2, 1)),
        (2, (2, 1)),
        (1, (1, 2)),
        (2, (2, 1)),
    ]
    assert [each.replicas for each in image.topics["t"].partitions] == THIRTEEN
    assert [each.leader_epoch for each in image.topics["t"].partitions] == [
        int(replicas[0] == 0) for replicas in THIRTEEN
    ]


@pytest.mark.spec("admin:RC-42")
def test_the_leader_of_four_replicas_dies() -> None:
    """Broker 4 of 5 leads with factor 4 and dies: an in-sync follower leads, nothing else moves."""
    image = with_topics(cluster(range(1, 6)), NewTopic("t", assignments=[(0, [4, 1, 2, 3])]))
    lose(image, 4)
    assert partition_of(image) == PartitionImage((4, 1, 2, 3), (1, 2, 3), 1, 1, 1)


@pytest.mark.spec("book2:J-12", "slides:B15")
def test_a_factor_of_n_survives_n_minus_1_losses() -> None:
    """One broker after the other dies; the last replica leads, without any majority."""
    image = with_topics(cluster(range(4)), NewTopic("t", assignments=[(0, [3, 1, 0, 2])]))
    leaders = []
    for dead in (3, 0, 1):
        lose(image, dead)
        leaders.append(partition_of(image).leader)
    assert leaders == [1, 1, 2]
    assert partition_of(image).isr == (2,)
    lose(image, 2)
    assert partition_of(image).leader == NO_LEADER


@pytest.mark.spec("slides:B19", "admin:RC-22", "admin:RC-33")
def test_without_in_sync_replicas_a_partition_waits() -> None:
    """Clean only: with the last ISR member dead it is offline, until that one comes back."""
    image = pair()
    lose(image, 104)
    lose(image, 103)
    assert partition_of(image) == PartitionImage((103, 104), (103,), NO_LEADER, 1, 2)
    assert bring(image, 104) == []
    bring(image, 103)
    assert partition_of(image) == PartitionImage((103, 104), (103,), 103, 2, 3)


@pytest.mark.spec("slides:B18", "admin:RC-22")
def test_an_unclean_election_takes_any_live_replica() -> None:
    """unclean.leader.election.enable: the first to return leads alone; committed data may go."""
    image = pair()
    lose(image, 104, policy=UNCLEAN)
    lose(image, 103, policy=UNCLEAN)
    bring(image, 104, policy=UNCLEAN)
    assert partition_of(image) == PartitionImage((103, 104), (104,), 104, 2, 3)


@pytest.mark.spec("slides:B18")
def test_an_unclean_election_is_the_last_resort() -> None:
    """Even where it is allowed, a live member of the ISR is preferred."""
    image = with_topics(cluster(), NewTopic("t", assignments=[(0, [0, 1, 2])]))
    put(image, isr=(0, 2))
    lose(image, 0, policy=UNCLEAN)
    assert (partition_of(image).leader, partition_of(image).isr) == (2, (2,))


def test_a_setting_can_free_a_partition_that_stands_still() -> None:
    """unclean.leader.election.enable, set on the topic or on the brokers, is acted on at once."""
    for news in (ConfigChanged(topic_owner("t"), {}), ConfigChanged(broker_owner(None), {})):
        image = pair(isr=(103,))
        lose(image, 103)
        assert decide(image, [news], CLEAN) == []
        hear(image, news, policy=UNCLEAN)
        assert partition_of(image).leader == 104
    gone = ConfigChanged(topic_owner("gone"), {})
    assert decide(image, [gone], UNCLEAN) == []


def test_a_broker_without_partitions_changes_nothing() -> None:
    """Nothing is written for partitions that a broker has no part in."""
    image = with_topics(cluster([0, 1, 2]), NewTopic("t", assignments=[(0, [0, 1])]))
    assert lose(image, 2) == []
    assert bring(image, 5) == []


@pytest.mark.spec("slides:B16")
def test_a_returning_broker_does_not_disturb_a_living_leader() -> None:
    """Coming back gives nobody leadership or ISR membership: it must catch up first."""
    image = thirteen()
    lose(image, 0)
    assert bring(image, 0) == []


@pytest.mark.spec("admin:RC-39")
def test_a_replacement_under_the_same_id_begins_with_nothing() -> None:
    """A new machine with the id of a dead one is in no ISR, and leads nothing it cannot have."""
    image = thirteen()
    lose(image, 0)
    image.apply(step_down(image, 0))
    newcomer = replace(broker(0), epoch=99, directories=("other",))
    assert hear(image, BrokerRegistered(newcomer)) == []
    assert all(0 not in each.isr for each in image.topics["t"].partitions)


def test_gone_and_back_between_two_looks_is_a_loss() -> None:
    """What a broker had belongs to a life that is over, though it is registered now."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1]), (1, [1, 0])]))
    back = (BrokerUnregistered(0), BrokerRegistered(replace(broker(0), epoch=50)))
    hear(image, *back)
    assert partition_of(image) == PartitionImage((0, 1), (1,), 1, 1, 1)
    assert partition_of(image, number=1) == PartitionImage((1, 0), (1,), 1, 0, 1)


def test_gone_and_back_alone_leads_in_a_new_epoch() -> None:
    """Nobody else is in sync: the same broker leads again, and the epoch tells the lives apart."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1])]))
    put(image, isr=(0,))
    back = (BrokerUnregistered(0), BrokerRegistered(replace(broker(0), epoch=50)))
    hear(image, *back)
    assert partition_of(image) == PartitionImage((0, 1), (0,), 0, 1, 2)
    image.apply(step_down(image, 0))
    hear(image, *back)
    assert partition_of(image) == PartitionImage((0, 1), (0,), 0, 3, 4)


def test_all_in_sync_replicas_gone_and_back() -> None:
    """One of them leads alone; the other may lack what the first one has."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1])]))
    news: list[Change] = [BrokerUnregistered(each) for each in (0, 1)]
    news += [BrokerRegistered(replace(broker(each), epoch=50 + each)) for each in (0, 1)]
    hear(image, *news)
    assert partition_of(image) == PartitionImage((0, 1), (0,), 0, 1, 1)


def test_a_broker_that_came_and_went_is_not_alive() -> None:
    """The image says who is there; the news only say where to look."""
    image = pair()
    image.apply([BrokerUnregistered(103)])
    hear(image, BrokerUnregistered(103), BrokerRegistered(broker(103)), BrokerUnregistered(103))
    assert (partition_of(image).leader, partition_of(image).isr) == (104, (104,))


@pytest.mark.spec("book1:R-14", "admin:RC-23")
def test_new_partitions_of_a_dead_leader_get_another_one() -> None:
    """A topic made, or grown, on a broker that died meanwhile is led by a live replica."""
    image = cluster()
    made = created(image, NewTopic("t", assignments=[(0, [0, 1])]))
    image.apply([BrokerUnregistered(0)])
    hear(image, made)
    assert (partition_of(image).leader, partition_of(image).isr) == (1, (1,))
    image.apply([BrokerRegistered(broker(0))])
    grown = create_partitions(image, "t", 2, [[0, 2]])
    image.apply([BrokerUnregistered(0)])
    hear(image, grown)
    assert (partition_of(image, number=1).leader, partition_of(image, number=1).isr) == (2, (2,))


@pytest.mark.spec("admin:RC-25", "book1:R-15")
def test_a_new_controller_finds_what_the_last_one_left() -> None:
    """It knows no news: brokers that died unseen, moves half done, all is looked at."""
    image = with_topics(
        cluster(), NewTopic("t", assignments=[(0, [0, 1]), (1, [1, 0]), (2, [1, 2])])
    )
    moved, _ = alter(image, {TopicPartition("t", 2): [2]}, may_change_factor=True)
    image.apply([*moved, BrokerUnregistered(0)])
    first = take_over(image, CLEAN)
    assert len(first) == 3
    image.apply(first)
    hear(image, *first)
    assert [(each.leader, each.replicas) for each in image.topics["t"].partitions] == [
        (1, (0, 1)),
        (1, (1, 0)),
        (2, (2,)),
    ]
    assert take_over(image, CLEAN) == []


def test_thousands_of_elections_are_one_pass() -> None:
    """Four times the partitions take four times the work, and not sixteen times."""
    assert seconds_to_elect(topics=40) < 9 * seconds_to_elect(topics=10)


def seconds_to_elect(topics: int) -> float:
    """What it takes at least to decide for topics of 100 partitions when a broker has died."""
    image = cluster(range(3))
    for topic in range(topics):
        request = NewTopic(f"t{topic}", num_partitions=100, replication_factor=3)
        image.apply([created(image, request)])
    image.apply([BrokerUnregistered(0)])
    spent = []
    for _ in range(5):
        begun = time.process_time()
        changes = decide(image, [BrokerUnregistered(0)], CLEAN)
        spent.append(time.process_time() - begun)
    assert len(changes) == 100 * topics
    return min(spent)


# -- balance ---------------------------------------------------------------------------------------


def unbalanced(away: int) -> ClusterImage:
    """20 partitions that broker 0 should lead; it is back in sync, and some are led by 1."""
    image = with_topics(
        cluster([0, 1]), NewTopic("t", assignments=[(number, [0, 1]) for number in range(20)])
    )
    for number in range(away):
        put(image, number, leader=1, leader_epoch=1)
    return image


@pytest.mark.spec("slides:B23", "admin:RC-10", "book2:R-15")
def test_leaders_return_when_too_many_are_away() -> None:
    """leader.imbalance.per.broker.percentage: up to 10 % is left alone, more is put right."""
    assert balance_leaders(unbalanced(2), imbalance_percentage=10) == []
    image = unbalanced(3)
    changes = balance_leaders(image, imbalance_percentage=10)
    image.apply(changes)
    assert len(changes) == 3
    assert [(each.leader, each.isr) for each in image.topics["t"].partitions] == [(0, (0, 1))] * 20
    assert partition_of(image) == PartitionImage((0, 1), (0, 1), 0, 2, 2)
    assert balance_leaders(image, imbalance_percentage=0) == []


def test_balance_never_elects_who_cannot_lead() -> None:
    """A preferred replica that is dead, not in sync, or about to leave waits."""
    image = unbalanced(4)
    put(image, 0, isr=(1,))
    moved, _ = alter(image, {TopicPartition("t", 1): [0, 2]}, may_change_factor=True)
    assert moved == []  # broker 2 is not there
    image.apply([BrokerRegistered(broker(2))])
    moved, _ = alter(image, {TopicPartition("t", 1): [0, 2]}, may_change_factor=True)
    image.apply(moved)
    chosen = balance_leaders(image, imbalance_percentage=10)
    assert [change.partition for change in chosen if isinstance(change, PartitionChanged)] == [2, 3]
    image.apply([BrokerUnregistered(0)])
    assert balance_leaders(image, imbalance_percentage=10) == []


# -- what always holds -----------------------------------------------------------------------------

BROKERS = range(5)
ids = st.integers(0, 4)
sets = st.lists(ids, min_size=1, max_size=4, unique=True)


def check_steps(before: dict[TopicPartition, PartitionImage], image: ClusterImage) -> None:
    for name, topic in image.topics.items():
        for number, after in enumerate(topic.partitions):
            old = before.get(TopicPartition(name, number))
            assert after.isr
            assert set(after.isr) <= set(after.replicas)
            assert len(set(after.replicas)) == len(after.replicas)
            assert set(after.adding) | set(after.removing) <= set(after.replicas)
            assert after.leader == NO_LEADER or after.leader in after.isr
            if old is not None:
                assert after.leader_epoch >= old.leader_epoch
                assert (after.partition_epoch > old.partition_epoch) == (after != old)
                changed = after.leader != old.leader
                assert (after.leader_epoch > old.leader_epoch) >= changed


def places(image: ClusterImage) -> dict[TopicPartition, PartitionImage]:
    return {
        TopicPartition(name, number): partition
        for name, topic in image.topics.items()
        for number, partition in enumerate(topic.partitions)
    }


def upheaval(image: ClusterImage, data: st.DataObject, epoch: int) -> list[Change]:
    """Something happens: a broker goes, comes, restarts; a leader sees its ISR change; a move."""
    each = data.draw(ids)
    place = data.draw(st.sampled_from(sorted(places(image))))
    partition = partition_of(image, *place)
    registered = BrokerRegistered(replace(broker(each), epoch=epoch))
    match data.draw(st.integers(0, 7)):
        case 0:
            return [BrokerUnregistered(each)]
        case 1:
            news: list[Change] = list(step_down(image, each))
            return [*news, BrokerUnregistered(each), registered]
        case 2:
            return [BrokerUnregistered(each), registered]
        case 3 if partition.leader in image.brokers:
            joined = tuple(dict.fromkeys((*partition.isr, *image.brokers)))
            isr = tuple(member for member in joined if member in partition.replicas)
            return [
                PartitionChanged(
                    *place,
                    replace(partition, isr=isr, partition_epoch=partition.partition_epoch + 1),
                )
            ]
        case 4:
            target = data.draw(st.none() | sets)
            return alter(image, {place: target}, may_change_factor=True)[0]
        case 5:
            return shut_down(image, each)
        case 6:
            return replicas_lost(image, each, [place], CLEAN)
        case _:
            return balance_leaders(image, imbalance_percentage=10)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(sets, min_size=1, max_size=4), st.booleans(), st.data())
def test_decisions_never_break_the_rules(
    assignments: list[list[int]], unclean: bool, data: st.DataObject
) -> None:
    """After every upheaval: one step per partition, leaders alive and in sync, and an end to it."""
    image = with_topics(
        cluster(BROKERS),
        *(
            NewTopic(f"t{number}", assignments=[(0, replicas)])
            for number, replicas in enumerate(assignments)
        ),
    )
    policy = Policy(unclean_allowed=lambda topic: unclean)
    for round_number in range(data.draw(st.integers(1, 12))):
        before = places(image)
        news = upheaval(image, data, epoch=100 + round_number)
        image.apply(news)
        check_steps(before, image)
        for _ in range(10):
            before = places(image)
            alive = image.brokers.keys()
            changes = decide(image, news, policy)
            touched = [(each.topic, each.partition) for each in changes]  # type: ignore[union-attr]
            assert len(set(touched)) == len(touched)
            image.apply(changes)
            check_steps(before, image)
            for place, old in before.items():
                new = partition_of(image, *place)
                if new.leader != old.leader and new.leader != NO_LEADER:
                    assert new.leader in alive
                    assert new.leader in old.isr or (unclean and alive.isdisjoint(old.isr))
            if not changes:
                break
            news = changes
        else:
            raise AssertionError("no end")
        assert decide(image, (), policy) == []
        for partition in places(image).values():
            if partition.leader != NO_LEADER:
                assert partition.leader in image.brokers
                assert set(partition.isr) <= image.brokers.keys()
    settled = take_over(image, policy)
    image.apply(settled)
    hear(image, *settled, policy=policy)
    assert take_over(image, policy) == []
    for partition in places(image).values():
        if partition.leader == NO_LEADER:
            assert image.brokers.keys().isdisjoint(partition.isr)


def test_news_of_what_is_gone_are_passed_over() -> None:
    """Topics and partitions that the image does not know any more concern nobody."""
    image = thirteen()
    gone: list[Change] = [
        PartitionChanged("x", 0, partition_of(image)),
        PartitionChanged("t", 99, partition_of(image)),
        TopicCreated(replace(image.topics["t"], name="x")),
    ]
    assert decide(image, gone, CLEAN) == []
