"""The runs as a picture: throughput and latency over time, and the distribution of latencies.

Phases stand one after the other on one axis of time, as they ran. The distribution is drawn over
the percentile, with as much room for 99 to 99.9 % as for 90 to 99 %: the tail is what matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from headrace.cli.bench.figures import Run, percentile
from headrace.cli.failures import Failure

_COLOURS: Final = {"produce": "#1f77b4", "consume": "#d95f02", "end to end": "#1b7837"}
_OTHER: Final = "#555555"
_TICKS: Final = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
_POINTS: Final = 400
_RECORDS_OF_A_POINT: Final = 50
_SHOWN: Final = ("p50_ms", "p95_ms", "p99_ms", "p99.9_ms", "max_ms")


def draw(runs: Sequence[Run], path: Path, title: str) -> None:
    """Write a PNG; needs the extra `plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Failure("matplotlib is not installed", 'pip install "headrace[plot]"') from None

    timed = [run for run in runs if run.latencies_s]
    figure = Figure(figsize=(11, 7.5 if timed else 4), layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=13)
    grid = figure.add_gridspec(2 if timed else 1, 2, height_ratios=(1.1, 1)[: 2 if timed else 1])
    _throughput(figure.add_subplot(grid[0, :]), runs)
    if timed:
        _latency_over_time(figure.add_subplot(grid[1, 0]), timed)
        _distribution(figure.add_subplot(grid[1, 1]), timed)
    try:
        figure.savefig(path, format="png", dpi=110)
    except OSError as error:
        raise Failure(f"{path} cannot be written ({error.strerror})") from None


def _throughput(axes: Any, runs: Sequence[Run]) -> None:
    """One area for each phase, its average as a line through it and as a number in the legend."""
    from matplotlib.ticker import EngFormatter

    begin = 0.0
    for run in runs:
        colour = _COLOURS.get(run.phase, _OTHER)
        windows = run.rates()
        edges = [begin, *(begin + each.end_s for each in windows)]
        figures = run.figures()
        label = f"{run.phase}: {figures['records_s']:,.0f} records/s, {figures['mb_s']:,.1f} MB/s"
        axes.stairs(
            [each.rate for each in windows], edges, fill=True, color=colour, alpha=0.35, label=label
        )
        axes.hlines(figures["records_s"], begin, edges[-1], colors=colour, linestyles="dashed")
        begin = edges[-1]
    axes.set(xlabel="seconds", ylabel="records per second", xlim=(0, begin), ylim=(0, None))
    axes.set_title("Throughput", loc="left", fontsize=11)
    axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.margins(y=0.15)
    _finish(axes, columns=len(runs))


def _latency_over_time(axes: Any, runs: Sequence[Run]) -> None:
    """The middle and the slow end of each window."""
    for run in runs:
        colour = _COLOURS.get(run.phase, _OTHER)
        count = len(run.latencies_s) // _RECORDS_OF_A_POINT
        windows = [each for each in run.windows(count) if each.latencies_s]
        middles = [(each.start_s + each.end_s) / 2 for each in windows]
        for percent, style in ((50.0, "solid"), (99.0, "dashed")):
            values = [1000 * percentile(each.latencies_s, percent) for each in windows]
            axes.plot(
                middles, values, color=colour, linestyle=style, marker=".", label=f"p{percent:g}"
            )
    axes.set(xlabel="seconds", ylabel="milliseconds", xlim=(0, None), ylim=(0, None))
    what = "acknowledgement" if runs[0].phase == "produce" else runs[0].phase
    axes.set_title(f"Latency: {what}", loc="left", fontsize=11)
    axes.margins(y=0.15)
    _finish(axes, columns=2)


def _distribution(axes: Any, runs: Sequence[Run]) -> None:
    """Latency over the percentile, and the usual percentiles as numbers."""
    from matplotlib.ticker import FixedLocator

    last = _place(100 * (1 - 1 / max(len(run.latencies_s) for run in runs)))
    for run in runs:
        ordered = sorted(run.latencies_s)
        places = [last * each / _POINTS for each in range(_POINTS + 1)]
        slowest = [1000 * percentile(ordered, 100 * (1 - 10**-each)) for each in places]
        axes.plot(
            [*places, last],
            [*slowest, 1000 * ordered[-1]],
            color=_COLOURS.get(run.phase, _OTHER),
            drawstyle="steps-post",
        )
    ticks = [each for each in _TICKS if _place(each) <= last + 1e-6]
    axes.xaxis.set_major_locator(FixedLocator([_place(each) for each in ticks]))
    axes.set_xticklabels([f"{each:g}" for each in ticks])
    axes.set(xlabel="% of records, at most this slow", ylabel="milliseconds", ylim=(0, None))
    axes.set_xlim(0, 1.02 * max(last, _place(50.0)))
    axes.set_title("Distribution", loc="left", fontsize=11)
    figures = runs[0].figures()
    numbers = "  ".join(f"{name.removesuffix('_ms')} {figures[name]:,.3g}" for name in _SHOWN)
    # Above the axes, where no line can run through it.
    axes.set_title(f"{numbers} ms", loc="right", fontsize=9)
    axes.margins(y=0.1)
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _place(percent: float) -> float:
    """Where a percentile stands: each nine has the same room."""
    return -math.log10(max(1 - percent / 100, 1e-9))


def _finish(axes: Any, *, columns: int) -> None:
    """The legend stands above the axes, where no line can run through it."""
    axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, frameon=False, borderaxespad=0.2
    )
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
