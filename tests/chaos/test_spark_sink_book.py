"""What `python -m tests.chaos.spark_sink` takes for a fault: rows missing, rows that came twice.

The kills themselves take minutes and are that program's.
"""

from __future__ import annotations

from tests.chaos.spark_sink.values import EXACT, REPEATED, Book


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
