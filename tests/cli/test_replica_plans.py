"""Plans of reassignments: read, checked, made from a wish."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.admin.views import BrokerView
from headrace.cli.replica_plans import (
    Assignment,
    BadPlan,
    Replica,
    check,
    parse_partitions,
    parse_plan,
    parse_topics,
    spread,
    to_json,
    with_replication_factor,
    without_broker,
)
from headrace.types import TopicPartition


def brokers(*ids: int, racks: dict[int, str] | None = None) -> list[BrokerView]:
    return [BrokerView(each, "h", 9092, (racks or {}).get(each), False) for each in ids]


def plan(*entries: dict[str, object]) -> str:
    return json.dumps({"version": 1, "partitions": list(entries)})


@pytest.mark.spec("book2:K-03")
def test_the_json_of_kafkas_tool_is_read_and_written() -> None:
    """What is printed as the current assignment can be given back for a rollback."""
    wanted = {TopicPartition("b", 1): (1, 2), TopicPartition("a", 0): (0,)}
    text = to_json(wanted, {Replica("b", 1, 2): "/disk"})
    assert text == (
        '{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[0],"log_dirs":["any"]},'
        '{"topic":"b","partition":1,"replicas":[1,2],"log_dirs":["any","/disk"]}]}'
    )
    read = parse_plan(text)
    check(read)
    assert read.assignment == wanted
    assert read.log_dirs == {Replica("b", 1, 2): "/disk"}
    assert str(Replica("b", 1, 2)) == "b-1-2"


A0 = {"topic": "a", "partition": 0, "replicas": [0, 1]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not a valid JSON"),
        ("[]", "not an object"),
        ('{"version": 2}', "Not supported version field value 2"),
        ('{"partitions": 1}', "is not a list"),
        (plan(), "list cannot be empty"),
        (plan({"topic": "a", "partition": 0}), "give topic, partition, replicas"),
        (plan({**A0, "replicas": []}), "Partition replica list cannot be empty"),
        (plan(A0, A0), "duplicate topic partitions: a-0"),
        (plan({**A0, "replicas": [1, 1]}), "a-0 contains multiple entries for 1"),
        (plan({**A0, "log_dirs": ["any"]}), "is different from size of log dirs list"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(text: str, complaint: str) -> None:
    """Before anything is asked of a broker."""
    with pytest.raises(BadPlan, match=complaint):
        check(parse_plan(text))


def test_topics_and_partitions_are_read_from_their_own_json() -> None:
    """Those of --topics-to-move-json-file and --path-to-json-file."""
    assert parse_topics('{"topics": [{"topic": "a"}, {"topic": "b"}]}') == ["a", "b"]
    assert parse_partitions('{"partitions": [{"topic": "a", "partition": 1}]}') == [("a", 1)]
    for text, read, complaint in [
        ('{"topics": ["a"]}', parse_topics, "names no topic"),
        ('{"topics": [{"topic": "a"}, {"topic": "a"}]}', parse_topics, "duplicate entries"),
        ('{"partitions": [{"topic": "a"}]}', parse_partitions, "is not a partition"),
        ("{}", parse_partitions, 'missing "partitions" field'),
        (plan(A0, A0), parse_partitions, "duplicate partitions: a-0"),
    ]:
        with pytest.raises(BadPlan, match=complaint):
            read(text)


def test_a_leaving_broker_is_replaced_at_its_place_by_who_has_least() -> None:
    """Nothing else moves; where it led, a broker that leads little takes over."""
    now: Assignment = {
        TopicPartition("a", 0): (3, 1, 2),
        TopicPartition("a", 1): (1, 3, 2),
        TopicPartition("a", 2): (1, 2, 0),
        TopicPartition("b", 0): (2,),
    }
    planned = without_broker(now, 3, brokers(0, 1, 2, 3))
    assert planned == {TopicPartition("a", 0): (0, 1, 2), TopicPartition("a", 1): (1, 0, 2)}
    with pytest.raises(BadPlan, match="no broker is left to take a-0 from broker 3"):
        without_broker(now, 3, brokers(1, 2, 3))


def test_a_replacement_is_of_a_rack_that_has_no_replica_yet() -> None:
    """Even if others are idle."""
    racks = {0: "east", 1: "east", 2: "west", 3: "west"}
    now: Assignment = {TopicPartition("a", 0): (0, 3), TopicPartition("b", 0): (2,)}
    planned = without_broker(now, 3, brokers(0, 1, 2, 3, racks=racks))
    assert planned == {TopicPartition("a", 0): (0, 2)}


@pytest.mark.spec("admin:RC-40")
def test_more_replicas_are_added_behind_and_fewer_taken_from_there() -> None:
    """The preferred leader stays in any case; partitions that fit are left out."""
    now: Assignment = {TopicPartition("a", 0): (0,), TopicPartition("a", 1): (1, 2, 0)}
    assert with_replication_factor(now, 3, brokers(0, 1, 2)) == {TopicPartition("a", 0): (0, 1, 2)}
    assert with_replication_factor(now, 1, brokers(0, 1, 2)) == {TopicPartition("a", 1): (1,)}
    with pytest.raises(
        BadPlan, match="a replication factor of 4 needs as many live brokers, there are 3"
    ):
        with_replication_factor(now, 4, brokers(0, 1, 2))


@given(
    st.lists(st.permutations(range(5)).map(lambda ids: tuple(ids[:3])), min_size=1, max_size=20),
    st.integers(0, 4),
)
def test_no_plan_loses_or_doubles_a_replica(rows: list[tuple[int, ...]], leaving: int) -> None:
    """Whatever is moved: as many replicas as before, all different, none on the leaving broker."""
    now: Assignment = {TopicPartition("t", number): row for number, row in enumerate(rows)}
    planned = without_broker(now, leaving, brokers(*range(5)))
    assert planned.keys() == {where for where, row in now.items() if leaving in row}
    for where, row in planned.items():
        assert len(set(row)) == 3
        assert leaving not in row
        assert [each for each in row if each in now[where]] == [
            each for each in now[where] if each != leaving
        ]


def test_a_topic_is_spread_as_a_new_one_would_be() -> None:
    """Leaders go round; each topic keeps its own number of replicas."""
    now: Assignment = {
        **{TopicPartition("a", number): (0, 1) for number in range(3)},
        TopicPartition("b", 0): (0,),
    }
    placed = spread(now, brokers(1, 2, 3), start_index=0, shift=0)
    assert placed == {
        TopicPartition("a", 0): (1, 2),
        TopicPartition("a", 1): (2, 3),
        TopicPartition("a", 2): (3, 1),
        TopicPartition("b", 0): (1,),
    }
