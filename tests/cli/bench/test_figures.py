"""What a measurement says, without a broker."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from headrace.cli.bench.figures import Run, percentile
from headrace.cli.bench.load import Payload, payloads
from headrace.cli.bench.plot import draw


def test_percentiles_are_values_that_occurred() -> None:
    """The nearest rank: of a thousand, 99.9 % are not above the 999th."""
    ordered = [float(number) for number in range(1, 1001)]
    found = [percentile(ordered, each) for each in (0, 50, 95, 99, 99.9, 100)]
    assert found == [1, 500, 950, 990, 999, 1000]
    assert percentile([7.0], 99.9) == 7.0


def test_rates_and_latencies_are_told() -> None:
    """Megabytes of a million bytes, latencies in milliseconds."""
    run = Run("produce", record_bytes=500, seconds=2.0, records=4000)
    assert run.figures()["mb_s"] == 1.0
    assert run.figures()["records_s"] == 2000.0
    assert "avg_ms" not in run.figures()
    run.latencies_s = [0.001, 0.003]
    figures = run.figures()
    assert (figures["avg_ms"], figures["p50_ms"], figures["max_ms"]) == (2.0, 1.0, 3.0)
    assert Run("produce", 1).figures()["records_s"] == 0


def test_rates_over_time_count_every_record_in_windows_of_one_length() -> None:
    """A steady load is a straight line up to its end; bursts of a client are not its rate."""
    times = [number / 1000 for number in range(1, 4001)]
    run = Run("produce", 1, seconds=4.0, done_at_s=times)
    windows = run.rates()
    assert [each.end_s - each.start_s for each in windows] == [pytest.approx(0.25)] * 16
    assert all(each.rate == pytest.approx(1000, rel=0.01) for each in windows)
    bursts = Run("consume", 1, seconds=4.0, done_at_s=[math.ceil(at / 0.2) * 0.2 for at in times])
    assert all(0 < each.rate <= 2000 for each in bursts.rates())
    long = Run("produce", 1, seconds=400.0, done_at_s=[100 * at for at in times])
    assert len(long.rates()) == 40
    assert sum(each.rate * (each.end_s - each.start_s) for each in long.rates()) == pytest.approx(
        4000
    )
    assert len(Run("produce", 1, seconds=0.1, done_at_s=[0.1]).rates()) == 1
    assert Run("produce", 1).rates() == []


def test_latencies_over_time_stand_in_their_windows() -> None:
    """The slow second half of a run is slow in the second half of the picture."""
    run = Run("produce", 1, seconds=2.0, done_at_s=[0.4, 0.9, 1.4, 1.9])
    run.latencies_s = [0.1, 0.1, 0.5, 0.5]
    assert [each.latencies_s for each in run.windows(2)] == [[0.1, 0.1], [0.5, 0.5]]


@pytest.mark.parametrize("kind", Payload)
@pytest.mark.parametrize("size", [0, 1, 100, 100_000])
def test_payloads_have_their_size(kind: Payload, size: int) -> None:
    """And differ from one another where they can."""
    value = payloads(kind, size)
    assert {len(value(number)) for number in range(50)} == {size}
    if size >= 100:
        assert len({value(number) for number in range(20)}) > 1


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    """A PNG, with and without latencies."""
    times = [number / 100 for number in range(500)]
    timed = Run("produce", 1, latencies_s=[0.001 * number for number in range(1, 501)])
    timed.done_at_s = times
    draw([timed, Run("consume", 1, done_at_s=times)], tmp_path / "a.png", "500 records")
    draw([Run("consume", 1, done_at_s=times)], tmp_path / "b.png", "500 records")
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
