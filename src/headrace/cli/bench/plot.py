"""The runs as a picture: how the rate went, and how late how many records were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headrace.cli.bench.figures import Run
from headrace.cli.failures import Failure


def draw(runs: Sequence[Run], path: Path, title: str) -> None:
    """Write a PNG; needs the extra `plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Failure("matplotlib is not installed", 'pip install "headrace[plot]"') from None

    timed = [run for run in runs if run.latencies_s]
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    columns = figure.subplots(1, 2 if timed else 1, squeeze=False)[0]
    for run in runs:
        places = run.rates()
        columns[0].plot([at for at, _ in places], [rate for _, rate in places], label=run.phase)
    columns[0].set(xlabel="seconds", ylabel="records a second", ylim=(0, None), title=title)
    columns[0].legend()
    for run in timed:
        ordered = sorted(run.latencies_s)
        shares = [100 * (number + 1) / len(ordered) for number in range(len(ordered))]
        columns[1].plot([1000 * each for each in ordered], shares, label=run.phase)
    if timed:
        columns[1].set(
            xlabel="milliseconds", ylabel="% of records", xscale="log", title="done within"
        )
        columns[1].grid(visible=True, which="both", alpha=0.3)
        columns[1].legend()
    try:
        figure.savefig(path, format="png", dpi=110)
    except OSError as error:
        raise Failure(f"{path} cannot be written ({error.strerror})") from None
