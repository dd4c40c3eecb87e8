"""`headrace bench`: how fast a cluster is, measured by its own clients, over the wire.

A topic of its own is made for each run and removed afterwards, unless one is named. What the
figures are worth depends on the machine that runs the client: it is part of what is measured.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from headrace.cli.asking import connect, explained, find_topic
from headrace.cli.bench.figures import Run
from headrace.cli.bench.load import Payload, Tell, Work, around, consume, produce
from headrace.cli.failures import Failure
from headrace.cli.options import MADE, OutputOption, TargetOptions, TopicOption
from headrace.cli.output import Output, emit, table
from headrace.cli.parameters import Made, option
from headrace.cli.progress import Progress
from headrace.cli.sizes import parse_bytes
from headrace.cli.target import Target
from headrace.errors import HeadraceError

app = typer.Typer(
    help="Measure throughput and latency of any broker.",
    epilog="Example: headrace bench throughput --records 1000000 --plot bench.png",
    rich_markup_mode=None,
)
_COLUMNS: Final = ("phase", "records", "failed", "seconds", "records_s", "mb_s")
_LATENCIES: Final = ("avg_ms", "p50_ms", "p95_ms", "p99_ms", "p99.9_ms", "max_ms")

Phase = Callable[[Work, Tell], Run]
SizeOption = Annotated[str, option("--size SIZE", "Size of a record.")]
PartitionsOption = Annotated[int, option("--partitions", "Partitions of the new topic.", min=1)]
ReplicasOption = Annotated[
    int | None,
    option("--replicas", "Replicas of the new topic.", min=1, show_default="the broker's default"),
]
PayloadOption = Annotated[
    Payload, option("--payload", "Content of the records: random does not compress, text does.")
]
AcksOption = Annotated[str, option("--acks 0|1|all", "Acknowledgements to wait for.")]
CompressionOption = Annotated[
    str, option("--compression CODEC", "Compression codec: none, gzip, snappy, lz4, zstd.")
]
PlotOption = Annotated[
    Path | None, option("--plot FILE.png", "Write a plot of throughput and latency.")
]


class Place(NamedTuple):
    """A topic of its own, or one that is there."""

    topic: str | None
    partitions: int
    replicas: int | None


def _place(
    topic: TopicOption = None, partitions: PartitionsOption = 1, replicas: ReplicasOption = None
) -> Place:
    return Place(topic, partitions, replicas)


PlaceOptions = Annotated[Place, Made(_place)]


@app.command(epilog="Example: headrace bench throughput --records 1000000 --size 100 --acks 1")
def throughput(
    records: Annotated[int, option("--records", "Number of records.", min=1)] = 500_000,
    size: SizeOption = "100",
    place: PlaceOptions = MADE,
    acks: AcksOption = "all",
    compression: CompressionOption = "none",
    payload: PayloadOption = Payload.RANDOM,
    target: TargetOptions = MADE,
    plot: PlotOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write records at full speed, then read them all."""
    settings = {
        "acks": acks,
        "compression.type": compression,
        "linger.ms": 5,
        "queue.buffering.max.messages": 1_000_000,
    }
    wish = (records, parse_bytes(size, "--size"), payload, None, settings)
    phases = (produce,) if place.topic else (produce, consume)
    _measure(target, place, wish, phases, plot, output)


@app.command(epilog="Example: headrace bench latency --rate 1000 --seconds 30 --plot latency.png")
def latency(
    rate: Annotated[float, option("--rate", "Records per second.", min=0.1)] = 1000,
    seconds: Annotated[float, option("--seconds", "Duration.", min=0.1)] = 10,
    size: SizeOption = "100",
    place: PlaceOptions = MADE,
    acks: AcksOption = "all",
    compression: CompressionOption = "none",
    payload: PayloadOption = Payload.RANDOM,
    target: TargetOptions = MADE,
    plot: PlotOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write at a steady rate and time each record until it is acknowledged."""
    settings = {"acks": acks, "compression.type": compression, "linger.ms": 0}
    count = max(round(rate * seconds), 1)
    wish = (count, parse_bytes(size, "--size"), payload, rate, settings)
    _measure(target, place, wish, (produce,), plot, output)


@app.command("end-to-end", epilog="Example: headrace bench end-to-end --records 1000 --acks all")
def end_to_end(
    records: Annotated[int, option("--records", "Number of records.", min=1)] = 1_000,
    rate: Annotated[
        float | None, option("--rate", "Records per second.", min=0.1, show_default="one by one")
    ] = None,
    size: SizeOption = "100",
    place: PlaceOptions = MADE,
    acks: AcksOption = "all",
    payload: PayloadOption = Payload.RANDOM,
    target: TargetOptions = MADE,
    plot: PlotOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send records one by one and time each until a consumer has it."""
    wish = (records, max(parse_bytes(size, "--size"), 8), payload, rate, {"acks": acks})
    _measure(target, place, wish, (around,), plot, output)


def _measure(
    target: Target,
    place: Place,
    wish: tuple[int, int, Payload, float | None, dict[str, Any]],
    phases: tuple[Phase, ...],
    plot: Path | None,
    output: Output,
) -> None:
    with _topic(target, place) as (name, count):
        work = Work(target, name, count, *wish)
        runs = []
        for phase in phases:
            with Progress(phase.__name__, work.records) as bar:
                runs.append(phase(work, bar.update))
    if plot is not None:
        from headrace.cli.bench.plot import draw

        draw(runs, plot, f"{work.records:,} records of {work.record_bytes:,} B")
    rows = [run.figures() for run in runs]
    columns = [*_COLUMNS, *(each for each in _LATENCIES if each in rows[0])]
    emit(rows, output, lambda: table(rows, columns))
    if failed := sum(run.failed for run in runs):
        raise Failure(f"{failed} records were not written", "check the logs of the brokers")


@contextmanager
def _topic(target: Target, place: Place) -> Iterator[tuple[str, int]]:
    """The topic and how many partitions it has; a new one is removed at the end."""
    with connect(target) as admin:
        if place.topic is not None:
            yield place.topic, len(find_topic(admin.topics(), place.topic).partitions)
            return
        made = f"headrace-bench-{uuid.uuid4().hex[:8]}"
        with explained(f'topic "{made}"'):
            admin.create(made, place.partitions, place.replicas)
        try:
            yield made, place.partitions
        finally:
            with suppress(HeadraceError):
                admin.delete([made])
