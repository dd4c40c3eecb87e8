"""`kafka-dump-log`: what the files of a partition hold, as Kafka 4.3 prints it.

Files are only read. They may be separated by commas, as Kafka wants it, or by spaces, as a shell
expands `*.log`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.administering import (
    as_whole_number,
    bare,
    complain,
    need,
    read_flags,
)
from headrace.cli.kafka_compat.coordinator_records import OFFSETS, SHARE_STATE, TRANSACTIONS
from headrace.cli.kafka_compat.dumping import indexes
from headrace.cli.kafka_compat.dumping.decoders import by_classes, of_coordinator
from headrace.cli.kafka_compat.dumping.segment import Gaps, Parse, View, dump_segment
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.errors import HeadraceError
from headrace.log import names, snapshot

_COORDINATORS: Final = {
    "--offsets-decoder": OFFSETS,
    "--transaction-log-decoder": TRANSACTIONS,
    "--share-group-state-decoder": SHARE_STATE,
}
_CLASSES: Final = ("--key-decoder-class", "--value-decoder-class")
_ELSEWHERE: Final = ("--cluster-metadata-decoder", "--remote-log-metadata-decoder")
FLAGS: Final = {
    "--files": Takes.MANY,
    "--print-data-log": Takes.NOTHING,
    "--deep-iteration": Takes.NOTHING,
    "--verify-index-only": Takes.NOTHING,
    "--index-sanity-check": Takes.NOTHING,
    "--max-message-size": Takes.VALUE,
    "--max-bytes": Takes.VALUE,
    "--skip-record-metadata": Takes.NOTHING,
    **dict.fromkeys(_CLASSES, Takes.MAYBE),
    **dict.fromkeys(_COORDINATORS, Takes.NOTHING),
    **dict.fromkeys(_ELSEWHERE, Takes.NOTHING),
}
_NAME: Final = "kafka-dump-log"
_EXAMPLE: Final = f"{_NAME} --files data/orders-0/*.log --print-data-log"


def run(words: list[str]) -> int:
    try:
        given = read_flags(_NAME, words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        need(given, "--files")
        _dump(given)
    except (HeadraceError, OSError) as error:
        sys.stdout.flush()
        return complain(bare(error) if isinstance(error, HeadraceError) else str(error))
    return 0


def _dump(given: Given) -> None:
    view = _view(given)
    gaps, faults = Gaps({}), indexes.no_faults()
    for name in _files(given):
        print(f"Dumping {name}")
        for line in _lines(Path(name), view, given, gaps, faults):
            print(line)
    for line in chain(faults.lines(), gaps.lines()):
        print(line, file=sys.stderr)


def _files(given: Given) -> list[str]:
    texts = chain.from_iterable(text.split(",") for text in given.all("--files"))
    return [text.strip() for text in texts if text.strip()]


def _view(given: Given) -> View:
    parse = _parse(given)
    return View(
        deep=given.has("--deep-iteration") or parse is not None,
        parse=parse,
        skips_metadata=given.has("--skip-record-metadata"),
        max_bytes=as_whole_number(given, "--max-bytes"),
    )


def _parse(given: Given) -> Parse | None:
    for flag in _ELSEWHERE:
        if given.has(flag):
            raise WrongUsage(f"{flag} is for logs that no broker of headrace writes")
    for flag, topic in _COORDINATORS.items():
        if given.has(flag):
            return of_coordinator(topic)
    if given.has("--print-data-log") or any(map(given.has, _CLASSES)):
        return by_classes(*(given.text(flag) for flag in _CLASSES))
    return None


def _lines(
    path: Path, view: View, given: Given, gaps: Gaps, faults: indexes.Faults
) -> Iterator[str]:
    suffix = path.suffix
    if names.parse(path.name) is None or suffix not in (
        names.LOG,
        names.OFFSET_INDEX,
        names.TIME_INDEX,
        names.TXN_INDEX,
        snapshot.SUFFIX,
    ):
        print(f"Ignoring unknown file {path}", file=sys.stderr)
        return iter(())
    if suffix == names.LOG:
        return dump_segment(path, view, gaps)
    if suffix == snapshot.SUFFIX:
        return indexes.dump_snapshot(path)
    if suffix == names.TXN_INDEX:
        return indexes.dump_transactions(path)
    dump = indexes.dump_offset_index if suffix == names.OFFSET_INDEX else indexes.dump_time_index
    return dump(
        path,
        faults,
        sanity_only=given.has("--index-sanity-check"),
        verify_only=given.has("--verify-index-only"),
    )
