"""Names meet the partitions where Apache Kafka would look for them."""

from __future__ import annotations

import pytest

from headrace.coordinator.partitioner import partition_for


@pytest.mark.parametrize(
    ("name", "java_hash"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("console-consumer-12345", 158455506),
        ("polygenelubricants", -(2**31)),  # a well-known string whose hash has no absolute value
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_partition_is_the_absolute_value_of_javas_hash(name: str, java_hash: int) -> None:
    """`Utils.abs(name.hashCode()) % n`; the smallest integer counts as zero."""
    expected = 0 if java_hash == -(2**31) else abs(java_hash)
    assert partition_for(name, 50) == expected % 50
    assert partition_for(name, 1 << 31) == expected
