"""The Spark sink's guarantees under kill -9: a short run of `python -m tests.chaos.spark_sink`."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.exactly_once.brokers import victim
from tests.chaos.spark_sink.run import Plan, run
from tests.chaos.spark_sink.values import EXACT, REPEATED, Book
from tests.kafka.toolchain import need

STRIKES = ("executor", "broker", "driver", "executor")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.spec("book1:K-14", "book2:T-05", "book2:T-18")
def test_guarantees_under_kills(tmp_path: Path, quick_start: str) -> None:
    """Driver, workers and broker die in the middle of batches: a reader of committed records finds
    each row once where exactly-once was asked for, and none is missing where it was not."""
    need("java")
    seed = int(os.environ.get("HEADRACE_SEED", random.randrange(1 << 32)))
    plan = Plan(len(STRIKES), seed, STRIKES, java_options=quick_start)
    verdict = run(victim("headrace", tmp_path / "data"), tmp_path / "spark", plan)
    assert not verdict.faults, f"HEADRACE_SEED={seed}\n{verdict}\n{verdict.last_words}"
    assert verdict.runs.total() == len(STRIKES)


def test_the_book_notices_loss_and_repetition() -> None:
    """A missing row is a fault in both topics, a repeated one only where exactly once is due."""
    books = [Book(EXACT), Book(REPEATED)]
    for book in books:
        for number in (0, 1, 3, 3):
            book.cross_off(number)
        assert book.complete_below() == 2
        assert book.missing_of(6) == [2, 4, 5]
    exact, repeated = ("\n".join(book.faults(6)) for book in books)
    assert "3 of 6 lost, the first is 2" in exact
    assert "1 doubled, the first is 3" in exact
    assert "3 of 6 lost, the first is 2" in repeated
    assert "doubled" not in repeated
    assert "never went in" in books[0].faults(3)[-2]


def test_a_whole_book_has_no_faults() -> None:
    """Every number once, in any order."""
    book = Book(EXACT)
    for number in (2, 0, 1):
        book.cross_off(number)
    assert book.complete_below() == 3
    assert book.faults(3) == []
