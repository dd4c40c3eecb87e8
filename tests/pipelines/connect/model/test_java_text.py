"""Java's rules, by Java itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from headrace.pipelines.connect.model.java_text import java_hash_order
from tests.generated import examples
from tests.kafka.toolchain import need, run

LETTERS = "abcdefghijklmnopqrstuvwxyz_0123456789é€𝄞"


@pytest.mark.spec("book2:A5-07")
def test_the_order_of_the_books_columns() -> None:
    fields = ["id", "author_name", "age", "popularity_percentage"]
    assert java_hash_order(fields) == ["author_name", "popularity_percentage", "id", "age"]


def test_orders_are_those_of_a_hash_map() -> None:
    """Up to 200 names each, which make the map grow four times and fill its buckets unevenly."""
    chance = random.Random(20)
    lists = [
        list(
            dict.fromkeys(
                "".join(chance.choices(LETTERS, k=chance.randint(1, 9)))
                for _ in range(chance.choice((3, 11, 12, 13, 25, 200)))
            )
        )
        for _ in range(examples(1000))
    ]
    program = Path(__file__).with_name("Orders.java")
    asked = "".join("\t".join(names) + "\n" for names in lists).encode()
    answer = run([need("java"), "-Xmx128m", program], stdin=asked).decode()
    assert [line.split("\t") for line in answer.removesuffix("\n").split("\n")] == [
        java_hash_order(names) for names in lists
    ]
