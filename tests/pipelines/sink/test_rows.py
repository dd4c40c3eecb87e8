"""Rows are gathered into larger pieces without a change to any of them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from headrace.pipelines.sink.rows import gathered


def batch(first: int, count: int) -> pa.RecordBatch:
    numbers = range(first, first + count)
    return pa.RecordBatch.from_pydict(
        {
            "value": pa.array([f"value {number:10}" for number in numbers]),
            "other": pa.array([None] * count, pa.int64()),
            "key": pa.array([str(number).encode() for number in numbers]),
        }
    )


def test_rows_keep_their_order_and_pieces_their_size() -> None:
    """Small batches become few pieces; a batch is never cut."""
    batches = [batch(number * 100, 100) for number in range(20)]
    size = batches[0].select(["key", "value"]).nbytes
    pieces = list(gathered(batches, ("key", "value"), 4 * size))
    assert [piece.num_rows for piece in pieces] == [400] * 5
    assert pieces[0].schema.names == ["key", "value"]
    assert [key for piece in pieces for key in piece["key"].to_pylist()] == [
        str(number).encode() for number in range(2000)
    ]


def test_a_large_batch_is_passed_through_as_it_is() -> None:
    """No copy where there is nothing to combine."""
    large = batch(0, 1000)
    (piece,) = gathered([batch(0, 0), large], ("value",), 1)
    assert piece["value"].buffers()[2].address == large["value"].buffers()[2].address


def test_no_rows_no_pieces() -> None:
    """Spark sends empty batches for empty partitions."""
    assert list(gathered([batch(0, 0)], ("value",), 100)) == []
    assert list(gathered([], ("value",), 100)) == []


def test_seconds_become_timestamps() -> None:
    """Spark's own sink takes a double of seconds since 1970 for a timestamp, or null."""
    seconds = pa.RecordBatch.from_pydict({"timestamp": pa.array([1.5, None, 1_700_000_000.123])})
    (piece,) = gathered([seconds], ("timestamp",), 100)
    assert piece["timestamp"].to_pylist() == [
        dt.datetime(1970, 1, 1, 0, 0, 1, 500_000),  # noqa: DTZ001
        None,
        dt.datetime(2023, 11, 14, 22, 13, 20, 123_000),  # noqa: DTZ001
    ]
