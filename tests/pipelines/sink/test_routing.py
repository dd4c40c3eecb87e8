"""Rows to partitions: the column first, then the key as all producers hash it, then by turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pytest

from headrace.pipelines.sink.faults import WrongRow
from headrace.pipelines.sink.routing import STICKY_BYTES, Router

COUNTS = {"orders": 6, "clicks": 3, "audit": 1, "again": 6}


def counts(names: Collection[str]) -> Mapping[str, int]:
    return {name: COUNTS[name] for name in names}


def rows(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def keys(count: int) -> pa.Array:
    return pa.array([f"key-{number}".encode() for number in range(count)])


def routed(router: Router, batch: pa.RecordBatch) -> dict[int, tuple[str, int]]:
    """Where each row went; every row exactly once, in order within its destination."""
    found: dict[int, tuple[str, int]] = {}
    for topic, partition, order in router.route(batch):
        assert (np.diff(order) > 0).all(), "the order of rows is kept"
        for index in order.tolist():
            assert index not in found
            found[index] = (topic, partition)
    assert found.keys() == set(range(batch.num_rows))
    return found


def test_keys_go_where_the_java_client_sends_them() -> None:
    """Partitions of these keys among six, as kafka-clients computes them."""
    batch = rows(key=pa.array([b"", b"a", b"foobar", b"kafka", b"21", "ключ".encode()]))
    found = routed(Router("orders", counts), batch)
    # toPositive(murmur2(key)) % 6, from kafka-clients' Utils
    assert [found[index][1] for index in range(6)] == [_java(key.as_py()) for key in batch["key"]]


def _java(key: bytes) -> int:
    """The published algorithm, step by step, in unbounded integers."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    digest = 0x9747B28C ^ len(key)
    body = len(key) // 4 * 4
    for start in range(0, body, 4):
        word = int.from_bytes(key[start : start + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        digest = (digest * multiplier & mask) ^ word
    if body < len(key):
        digest = (digest ^ int.from_bytes(key[body:], "little")) * multiplier & mask
    digest = (digest ^ digest >> 13) * multiplier & mask
    digest ^= digest >> 15
    return (digest & 0x7FFFFFFF) % 6


def test_the_column_wins_over_the_key() -> None:
    """A null in it leaves the row to its key."""
    batch = rows(key=keys(4), partition=pa.array([5, None, 0, None], pa.int32()))
    by_key = routed(Router("orders", counts), rows(key=keys(4)))
    found = routed(Router("orders", counts), batch)
    assert [found[0][1], found[2][1]] == [5, 0]
    assert [found[1], found[3]] == [by_key[1], by_key[3]]


@pytest.mark.parametrize("partition", [6, -1, 2**31 - 1])
def test_a_partition_that_is_not_there_is_an_error(partition: int) -> None:
    """It names the row, counted through the task, and what there is."""
    router = Router("orders", counts)
    router.route(rows(value=keys(10)))
    batch = rows(partition=pa.array([0, partition], pa.int32()))
    with pytest.raises(WrongRow) as caught:
        router.route(batch)
    text = f"row 11 of this task asks for partition {partition} of topic 'orders', which has 6"
    assert text in str(caught.value)


def test_rows_of_many_topics_are_routed_in_one_go() -> None:
    """Each by the number of partitions of its own topic."""
    names = list(COUNTS) * 250
    batch = rows(key=keys(1000), topic=pa.array(names))
    found = routed(Router(None, counts), batch)
    for index, name in enumerate(names):
        alone = routed(Router(name, counts), rows(key=keys(1000).slice(index, 1)))
        assert found[index] == alone[0]


def test_a_row_without_a_topic_is_an_error() -> None:
    """It names the row and both ways out."""
    batch = rows(value=keys(3), topic=pa.array(["orders", None, "clicks"]))
    with pytest.raises(WrongRow, match=r"row 1 of this task has no topic .*option 'topic'"):
        Router(None, counts).route(batch)


def test_rows_without_a_key_stick_and_move_on() -> None:
    """KIP-480: few rows stay together, and the next few go elsewhere."""
    router = Router("orders", counts, turn=4)
    seen = [set(routed(router, rows(value=keys(10))).values()) for _ in range(8)]
    assert [{partition for _, partition in places} for places in seen] == [
        {4}, {5}, {0}, {1}, {2}, {3}, {4}, {5}
    ]  # fmt: skip


def test_many_rows_without_a_key_are_spread_evenly() -> None:
    """KIP-794: partitions get equal shares of a large piece, in runs."""
    value = pa.array([b"x" * 1000] * 6000)
    found = routed(Router("orders", counts, turn=2), rows(value=value))
    shares = Counter(partition for _, partition in found.values())
    assert set(shares.values()) == {1000}
    switches = sum(found[index] != found[index + 1] for index in range(5999))
    assert switches == 5


def test_a_run_is_no_smaller_than_a_batch_of_kafkas_producer() -> None:
    """Three times the sticky amount goes to three partitions of six."""
    value = pa.array([b"x" * 1020] * (3 * STICKY_BYTES // 1024))
    found = routed(Router("orders", counts), rows(value=value))
    assert {partition for _, partition in found.values()} == {0, 1, 2}


def test_rows_with_and_without_keys_mix() -> None:
    """Null keys take turns, the others stay where they belong; topics keep turns of their own."""
    some = [key if number % 3 else None for number, key in enumerate(keys(300).to_pylist())]
    names = ["orders" if number % 2 else "again" for number in range(300)]
    batch = rows(key=pa.array(some, pa.binary()), topic=pa.array(names))
    found = routed(Router(None, counts, turn=3), batch)
    keyed = routed(Router("orders", counts), rows(key=keys(300)))
    for number, key in enumerate(some):
        assert found[number][1] == (3 if key is None else keyed[number][1])


def test_ignored_keys_take_turns_too() -> None:
    """`partitioner.ignore.keys` of KIP-794."""
    found = routed(Router("orders", counts, ignore_keys=True, turn=1), rows(key=keys(50)))
    assert set(found.values()) == {("orders", 1)}
