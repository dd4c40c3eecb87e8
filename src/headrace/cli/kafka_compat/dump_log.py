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
from headrace.cli.kafka_compat.administering import Told, as_whole_number, need
from headrace.cli.kafka_compat.coordinator_records import OFFSETS, SHARE_STATE, TRANSACTIONS
from headrace.cli.kafka_compat.dumping import indexes
from headrace.cli.kafka_compat.dumping.decoders import by_classes, of_coordinator
from headrace.cli.kafka_compat.dumping.segment import Gaps, Parse, View, dump_segment
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.tool import Tool, Work
from headrace.log import names, snapshot

_COORDINATORS: Final = {
    "--offsets-decoder": OFFSETS,
    "--transaction-log-decoder": TRANSACTIONS,
    "--share-group-state-decoder": SHARE_STATE,
}
_CLASSES: Final = ("--key-decoder-class", "--value-decoder-class")
_ELSEWHERE: Final = ("--cluster-metadata-decoder", "--remote-log-metadata-decoder")


def _plan(given: Given) -> Work:
    need(given, "--files")
    return lambda: _dump(given)


def _dump(given: Given) -> None:
    view = _view(given)
    gaps, faults = Gaps({}), indexes.no_faults()
    try:
        for name in _files(given):
            print(f"Dumping {name}")
            for line in _lines(Path(name), view, given, gaps, faults):
                print(line)
    except OSError as error:
        raise Told(str(error)) from None
    finally:
        sys.stdout.flush()
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


run: Final = Tool(
    "kafka-dump-log",
    flags(
        "--files=… --print-data-log --deep-iteration --verify-index-only --index-sanity-check "
        "--max-message-size= --max-bytes= --skip-record-metadata",
        *(f"{flag}=?" for flag in _CLASSES),
        *_COORDINATORS,
        *_ELSEWHERE,
    ),
    "--files data/orders-0/*.log --print-data-log",
    _plan,
)
