"""`python -m benchmarks`: run the cases, print the table, write the JSON."""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import FrameType

from benchmarks import report
from benchmarks.bench import Bench
from benchmarks.brokers import HeadraceLauncher, Launcher
from benchmarks.cases import SCENARIOS
from benchmarks.clients import JavaClients
from benchmarks.errors import BenchmarkError
from benchmarks.kafka import jars
from benchmarks.kafka.server import KafkaLauncher
from benchmarks.table import OURS, THEIRS, Line, build_lines, format_table, missed

_CASES = tuple(case for scenario in SCENARIOS for case in scenario.cases)
_ROWS = tuple(row for scenario in SCENARIOS for row in scenario.rows)
_QUICK_SCALE, _QUICK_REPETITIONS = 0.1, 1
_FULL_SCALE, _FULL_REPETITIONS = 1.0, 3
_GIB_AT_FULL_SCALE = 16
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    if options.list:
        return _list_cases()
    for number in _ENDING:
        signal.signal(number, _interrupt)
    try:
        return _measure(options)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; brokers, clients and data are gone", file=sys.stderr)
        return 130


def _measure(options: argparse.Namespace) -> int:
    began = time.monotonic()
    run: dict[str, object] = {
        "cases": options.only,
        "scale": options.scale,
        "repetitions": options.reps,
        "kafka": options.kafka_version,
        "java": jars.check_java(),
    }
    class_path = jars.class_path(options.kafka_version)
    launchers = (_our_launcher(options, class_path), KafkaLauncher(class_path, THEIRS))
    folder = _data_folder(options.scale)
    try:
        java = JavaClients(class_path, folder / "classes")
        bench = Bench(launchers, java, folder, scale=options.scale, repetitions=options.reps)
        failures = _run_cases(bench, options.only)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    run["seconds"] = round(time.monotonic() - began)
    lines = build_lines(bench.measured, _ROWS)
    out = options.out or report.default_path()
    report.write(out, run, lines, failures)
    _print_results(options, lines, failures)
    print(f"every sample is in {out}")
    return 1 if failures or (options.strict and missed(lines)) else 0


def _run_cases(bench: Bench, only: Collection[str]) -> dict[str, str]:
    """Run the wanted cases; a failure ends its own scenario and is told, the others still run."""
    failures = {}
    for scenario in SCENARIOS:
        wanted = [case for case in scenario.cases if case in only]
        if not wanted:
            continue
        try:
            scenario.run(bench, wanted)
        except BenchmarkError as error:
            failures[", ".join(wanted)] = str(error)
            bench.say(f"FAILED {', '.join(wanted)}: {error}")
    return failures


def _print_results(
    options: argparse.Namespace, lines: Sequence[Line], failures: Mapping[str, str]
) -> None:
    print(f"\n{format_table(lines)}\n")
    print(
        f"ratio = {OURS} ÷ {THEIRS}, median of {options.reps}; spread = lowest..highest; "
        f"scale {options.scale:g}"
    )
    judged = [line for line in lines if line.metric.target]
    print(f"targets met: {len(judged) - len(missed(lines))} of {len(judged)}")
    for cases, error in failures.items():
        print(f"failed: {cases}: {error}", file=sys.stderr)


def _our_launcher(options: argparse.Namespace, class_path: str) -> Launcher:
    if options.null_test:
        return KafkaLauncher(class_path, OURS)
    command = shlex.split(options.headrace_cmd)
    if not command or shutil.which(command[0]) is None:
        missing = command[0] if command else "an empty command"
        raise BenchmarkError(f"cannot run {missing}: `make setup` installs it")
    return HeadraceLauncher(command)


def _data_folder(scale: float) -> Path:
    """A temporary folder on the cache's disk: /tmp may be memory, where nothing costs an fsync."""
    cache = jars.cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    needed, free = 1 + _GIB_AT_FULL_SCALE * scale, shutil.disk_usage(cache).free / 2**30
    if free < needed:
        raise BenchmarkError(
            f"{cache} has {free:.1f} GiB free and about {needed:.1f} are needed: "
            "lower --scale, or set HEADRACE_CACHE to a folder on a larger disk"
        )
    return Path(tempfile.mkdtemp(dir=cache, prefix="benchmark-"))


def _list_cases() -> int:
    for row in _ROWS:
        for metric in row.metrics:
            target = str(metric.target) if metric.target else "-"
            print(f"{row.case:9} {row.label:30} {metric.key:12} {metric.unit:14} {target}")
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Leave the run through its `finally` blocks, which a second Ctrl-C must not cut short."""
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def _cases(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in _CASES:
            raise argparse.ArgumentTypeError(f"no case {name!r}; there are {', '.join(_CASES)}")
    return names


def _scale(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0 and up to 100")
    return number


def _repetitions(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 to 100")
    return int(text)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Headrace and Apache Kafka in alternation; print the ratios.",
        epilog="example: python -m benchmarks --only produce,consume --quick",
    )
    add = parser.add_argument
    add(
        "--only", type=_cases, default=list(_CASES), metavar="CASE,…", help=f"of {','.join(_CASES)}"
    )
    add("--quick", action="store_true", help="a tenth of the load, once")
    add("--scale", type=_scale, metavar="X", help="multiplies the amount of load (1)")
    add("--reps", type=_repetitions, metavar="N", help="repetitions (3)")
    add("--list", action="store_true", help="list cases, metrics and targets; measure nothing")
    add("--out", type=Path, metavar="FILE", help="where the JSON goes (benchmarks/results)")
    add("--strict", action="store_true", help="exit with 1 when a target is not met")
    add("--null-test", action="store_true", help="Kafka against itself: shows the noise")
    add("--kafka-version", default=jars.VERSION, help=f"from Maven ({jars.VERSION})")
    add(
        "--headrace-cmd",
        default=shlex.join(
            [str(Path(sys.executable).parent / "headrace"), "up", "--only", "broker"]
        ),
        help="starts our broker; --data, --port and --set are appended",
    )
    options = parser.parse_args(arguments)
    options.scale = options.scale or (_QUICK_SCALE if options.quick else _FULL_SCALE)
    options.reps = options.reps or (_QUICK_REPETITIONS if options.quick else _FULL_REPETITIONS)
    return options


if __name__ == "__main__":
    sys.exit(main())
