"""Who owns what while members and partitions come and go, in both protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from headrace.errors import Error
from tests.clients.configs import Op, Resource, changed
from tests.clients.consumer.application import (
    Member,
    Members,
    committed_of,
    numbered,
    read_all,
    settled,
    shared_out,
    write,
)
from tests.clients.consumer.mortal import mortal
from tests.clients.contract import eventually
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.groups.raw_members import NewMember
from tests.clients.raw import Connection
from tests.clients.requests import CREATE_TOPICS_VERSION, create_topics_request

both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def owned(members: list[Member]) -> list[tuple[str, int]]:
    """All that is owned, once per owner."""
    return sorted(each for member in members for each in member.partitions)


@both_protocols
@pytest.mark.spec("slides:D01", "slides:D02", "slides:D03", "slides:D04", "slides:D05")
@pytest.mark.spec("admin:CO-06", "book1:C-01", "book1:C-02")
def test_a_group_is_one_subscriber_and_its_members_share_the_work(
    bootstrap: str, members: Members, new_topic: Callable[..., str], group: str, protocol: str
) -> None:
    """Six partitions are three each; each group gets every record, each record one member."""
    topic = new_topic(partitions=6)
    queue = [members.join(group, topic, group_protocol=protocol) for _ in range(2)]
    shared_out(queue, 3, 3)
    assert owned(queue) == [(topic, number) for number in range(6)]
    for partition in range(6):
        write(bootstrap, topic, numbered(10), partition=partition)
    other = members.join(f"{group}-other", topic, group_protocol=protocol)
    everything = [(partition, offset) for partition in range(6) for offset in range(10)]
    for readers in (queue, [other]):
        found = [(each.partition(), each.offset()) for each in read_all(readers, 60)]
        assert sorted(found) == everything
    assert {len(member.messages) for member in queue} == {30}
    # Each group has offsets of its own.
    for member in queue:
        member.consumer.commit(asynchronous=False)
    assert committed_of(bootstrap, group, topic, 5) == 10
    assert committed_of(bootstrap, f"{group}-other", topic, 5) is None


@pytest.mark.spec("book2:N-10")
@both_protocols
@pytest.mark.spec("slides:D10", "admin:CO-07", "book1:C-03")
def test_members_beyond_the_partitions_wait_for_their_turn(
    members: Members, new_topic: Callable[..., str], group: str, protocol: str
) -> None:
    """Three partitions for five members leave two idle; one of them steps in when a worker goes."""
    topic = new_topic(partitions=3)
    five = [members.join(group, topic, group_protocol=protocol) for _ in range(5)]
    shared_out(five, 1, 1, 1, 0, 0)
    next(member for member in five if member.partitions).close()
    shared_out(five, 1, 1, 1, 0, 0)
    assert owned(five) == [(topic, number) for number in range(3)]
    assert sum(member.open for member in five) == 4


@pytest.mark.spec("admin:PF-10")
@pytest.mark.spec("admin:CO-07")
def test_a_hundred_members_become_five_hundred(
    connection: Connection, topic_name: str, group: str
) -> None:
    """500 partitions: five each for 100 members, one each for 500 (KIP-848)."""
    request = create_topics_request(topic_name, partitions=500)
    (created,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
    assert created.error_code == Error.NONE
    everybody: list[NewMember] = []

    def shares() -> Counter[int]:
        for member in everybody:
            member.beat()
        return Counter(len(member.partitions) for member in everybody)

    for size, share in ((100, 5), (500, 1)):
        more = [NewMember(connection, group, [topic_name]) for _ in range(size - len(everybody))]
        for member in more:
            member.join()
        everybody += more
        wanted = Counter({share: size})
        eventually(lambda wanted=wanted: shares() == wanted, f"{share} partitions each")  # type: ignore[misc]
        taken = [number for member in everybody for number in member.partitions]
        assert sorted(taken) == list(range(500))
    for member in everybody:
        assert member.leave().error_code == Error.NONE


@both_protocols
@pytest.mark.spec("slides:D09", "admin:CO-16", "book1:C-08", "book1:C-25")
def test_the_partitions_of_the_dead_go_to_the_survivors(
    bootstrap: str,
    connection: Connection,
    members: Members,
    new_topic: Callable[..., str],
    group: str,
    protocol: str,
) -> None:
    """A member that is killed says nothing; when its session is over, another has its work."""
    topic = new_topic(partitions=2)
    if protocol == "consumer":
        session = ("consumer.session.timeout.ms", Op.SET, "3000")
        assert changed(connection, group, session, kind=Resource.GROUP).error_code == 0
    survivor = members.join(group, topic, group_protocol=protocol)
    shared_out([survivor], 2)
    write(bootstrap, topic, numbered(5), partition=0)
    write(bootstrap, topic, numbered(5), partition=1)
    with mortal(bootstrap, group, topic, most=5, group_protocol=protocol) as dying:
        shared_out([survivor], 1)
        assert dying.take(5, meanwhile=survivor.poll) == list(range(5))
        dying.kill()
    shared_out([survivor], 2)
    (lost,) = {0, 1} - {survivor.messages[0].partition()}
    settled(
        [survivor],
        lambda: [each.partition() for each in survivor.messages].count(lost) >= 5,
        "what the dead had read but not committed",
    )


@both_protocols
@pytest.mark.spec("admin:CO-29", "admin:CO-12", "slides:D08", "book1:C-29")
def test_shares_follow_members_and_partitions(
    members: Members,
    librdkafka: Librdkafka,
    new_topic: Callable[..., str],
    group: str,
    protocol: str,
) -> None:
    """A join, new partitions and a leave each move work, without anybody asking for it."""
    topic = new_topic(partitions=4)
    pair = [members.join(group, topic, group_protocol=protocol)]
    shared_out(pair, 4)
    pair.append(members.join(group, topic, group_protocol=protocol))
    shared_out(pair, 2, 2)
    librdkafka.create_partitions(topic, 8)
    shared_out(pair, 4, 4)
    assert owned(pair) == [(topic, number) for number in range(8)]
    pair[0].close()
    shared_out(pair, 0, 8)


@pytest.mark.spec("admin:CO-27")
def test_a_key_stays_with_its_member_until_partitions_are_added(
    members: Members, librdkafka: Librdkafka, new_topic: Callable[..., str], group: str
) -> None:
    """All records of a key reach one member; with more partitions some keys move."""
    topic = new_topic(partitions=4)
    keys = [f"key-{number}".encode() for number in range(40)]
    pair = [members.join(group, topic) for _ in range(2)]
    shared_out(pair, 2, 2)
    placed = [librdkafka.partitions_of_keys(topic, keys) for _ in range(3)]
    read_all(pair, 120)
    for member in pair:
        others = {each.key() for other in pair if other is not member for each in other.messages}
        mine = Counter(each.key() for each in member.messages)
        assert set(mine.values()) == {3}
        assert not others & set(mine)
    librdkafka.create_partitions(topic, 5)
    shared_out(pair, 2, 3)
    assert librdkafka.partitions_of_keys(topic, keys) != placed[0]
