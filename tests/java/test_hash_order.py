"""The order of Java's hash maps, as Java itself gives it."""

from __future__ import annotations

import pytest

from headrace.java.hash_order import hash_map_order, java_hash


def test_hashes_are_those_of_java() -> None:
    """String.hashCode of texts, also beyond the first plane of Unicode."""
    assert java_hash("") == 0
    assert java_hash("a") == 97
    assert java_hash("hello") == 99162322
    assert java_hash("orders") == 0xC3DF62E5
    assert java_hash("😀") == 1772899


def test_keys_come_bucket_by_bucket() -> None:
    """A HashMap of 16 buckets; a collision keeps the order of insertion."""
    assert hash_map_order(["b", "a", "q"]) == ["a", "q", "b"]
    assert hash_map_order(["q", "a"]) == ["q", "a"]
    assert hash_map_order(["a", "a"]) == ["a"]


@pytest.mark.spec("book2:A5-07")
def test_the_columns_of_a_table_that_a_sink_created() -> None:
    fields = ["id", "author_name", "age", "popularity_percentage"]
    assert hash_map_order(fields) == ["author_name", "popularity_percentage", "id", "age"]


def test_the_table_grows_with_its_keys() -> None:
    """Beyond three quarters it doubles, and keys that shared a bucket part: as Java prints them."""
    assert hash_map_order(["q", "a"], 2) == ["q", "a"]
    letters = [chr(ord("a") + number) for number in range(17)]
    assert hash_map_order(reversed(letters)) == letters
    topics = ["__transaction_state", "orders", "__consumer_offsets"]
    assert hash_map_order(topics, 3) == ["orders", "__consumer_offsets", "__transaction_state"]
