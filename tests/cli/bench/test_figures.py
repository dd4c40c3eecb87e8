"""What a measurement says, without a broker."""

from __future__ import annotations

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


def test_rates_over_time_leave_out_the_window_that_is_cut_off() -> None:
    """A steady load is a straight line up to its end."""
    run = Run("produce", 1, done_at_s=[number / 1000 for number in range(2001)])
    rates = [rate for _, rate in run.rates()]
    assert len(rates) == 100
    assert all(rate == pytest.approx(1000, rel=0.06) for rate in rates)
    assert Run("produce", 1).rates() == []


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
