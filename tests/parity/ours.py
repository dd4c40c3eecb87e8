"""Our tools by Kafka's names: as a process of their own, or within this one.

A process is what a user runs, and what `python -m tests.parity` compares. Within this process the
same entry point is called with the same words and streams, which takes milliseconds: so `make test`
compares all of them with what Kafka's tools answered when they were recorded.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator

from headrace.cli.kafka_compat import main
from tests.parity.answer import Answer, ended


def run_process(tool: str, words: list[str], stdin: str, timeout_s: float) -> Answer:
    """As the installed script does it."""
    command = [sys.executable, "-m", "headrace.cli.kafka_compat", tool, *words]
    return ended(command, stdin, timeout_s)


def run_here(tool: str, words: list[str], stdin: str, timeout_s: float) -> Answer:
    """The entry point of the installed script, in this process; pytest bounds its time."""
    with _streams(stdin, [tool, *words]) as (out, err):
        try:
            code = main()
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return Answer(code, _text(out), _text(err))


@contextlib.contextmanager
def _streams(stdin: str, argv: list[str]) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    kept = sys.stdin, sys.stdout, sys.stderr, sys.argv
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    sys.argv = argv
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv = kept


def _text(stream: io.BytesIO) -> str:
    return stream.getvalue().decode(errors="replace")
