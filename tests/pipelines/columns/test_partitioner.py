"""Keys meet those of other producers, and rows keep their order within a partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from aiokafka.partitioner import murmur2
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.columns.partitioner import murmur2_partitions, rows_by_partition
from tests.clients.partitioner import PARTITIONER_CASES, PartitionerCase
from tests.records.samples import patient

MANY = 2**31 - 1

# Hashes that Apache Kafka's own tests expect, with their sign.
KAFKA_VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("partition_count", [1, 2, 7, 1000, MANY])
def test_vectors_of_apache_kafka(partition_count: int) -> None:
    """The hash is Kafka's; its sign is dropped before the remainder is taken."""
    keys = pa.array(list(KAFKA_VECTORS), pa.binary())
    wanted = [(hashed & 0x7FFFFFFF) % partition_count for hashed in KAFKA_VECTORS.values()]
    assert murmur2_partitions(keys, partition_count).tolist() == wanted


@pytest.mark.parametrize("case", PARTITIONER_CASES, ids=str)
def test_partitions_that_a_java_producer_chose(case: PartitionerCase) -> None:
    """Keys land where runs of the Java client put them."""
    assert murmur2_partitions(pa.array(case.keys), case.partitions).tolist() == case.expected


@patient
@given(keys=st.lists(st.none() | st.binary(max_size=40)), skipped=st.integers(0, 3))
def test_any_keys_as_another_client_hashes_them(keys: list[bytes | None], skipped: int) -> None:
    """aiokafka gives any key the same partition; a null key has none."""
    column = pa.array(keys, pa.binary()).slice(skipped)
    found = murmur2_partitions(column, MANY)
    assert found.dtype == np.int32
    for key, partition in zip(keys[skipped:], found.tolist(), strict=True):
        if key is None:
            assert partition == -1
        else:
            assert partition == (murmur2(key) & 0x7FFFFFFF) % MANY


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.null()])
def test_keys_of_every_kind(kind: pa.DataType) -> None:
    """Text hashes as its UTF-8 bytes; a column of nulls has no partitions."""
    keys = [None, None] if kind == pa.null() else ["foobar", None]
    wanted = [-1, -1] if kind == pa.null() else [(-790332482 & 0x7FFFFFFF) % 50, -1]
    assert murmur2_partitions(pa.array(keys, kind), 50).tolist() == wanted


def test_a_topic_has_partitions() -> None:
    """No partition to choose from is an error of the caller."""
    with pytest.raises(ValueError, match="not 0"):
        murmur2_partitions(pa.array([b"k"]), 0)


@patient
@given(partitions=st.lists(st.integers(0, 6)), partition_count=st.sampled_from([7, 40_000]))
def test_rows_keep_their_order(partitions: list[int], partition_count: int) -> None:
    """Each partition has its rows as they stood; partitions without rows are left out."""
    groups = rows_by_partition(np.array(partitions, np.int32), partition_count)
    assert {partition: rows.tolist() for partition, rows in groups} == {
        partition: [row for row, chosen in enumerate(partitions) if chosen == partition]
        for partition in set(partitions)
    }
    assert [partition for partition, _ in groups] == sorted(set(partitions))


@pytest.mark.parametrize("partitions", [[0, -1], [0, 3]])
def test_rows_go_to_partitions_that_exist(partitions: list[int]) -> None:
    """A row whose partition is unknown or not chosen yet is refused."""
    with pytest.raises(ValueError, match="but there are 0 to 2"):
        rows_by_partition(np.array(partitions, np.int32), 3)
