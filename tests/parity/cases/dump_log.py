"""`kafka-dump-log`, on files that our broker has written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.records.batch import TimestampType
from headrace.records.builder import build_batch
from headrace.records.compression import Codec
from headrace.records.record import Record
from tests.parity.case import Case, Step
from tests.parity.cases.console_consumer import _transactions
from tests.parity.internal_records import OF_GROUPS, OF_SHARES, OF_TRANSACTIONS, segment
from tests.parity.stage import file, records, topic

SEGMENT = "00000000000000000000"
LOG = f"{{folder}}/{SEGMENT}.log"
LATER = "{folder}/00000000000000000007.log"
_NOW_MS = 1_700_000_000_000
_BATCHES = [
    build_batch(
        [
            Record(0, _NOW_MS, b"a", b"one", [("h", b"1"), ("h2", None)]),
            Record(1, _NOW_MS + 1, None, b"two"),
            Record(2, _NOW_MS + 2, b"c", None),
        ],
        leader_epoch=3,
    ),
    build_batch(
        [Record(3, _NOW_MS, None, "ü".encode() * 20)],
        base_offset=3,
        compression=Codec.GZIP,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
    ),
    build_batch(
        [Record(4, _NOW_MS, None, b"five"), Record(5, _NOW_MS, None, b"six")],
        base_offset=4,
        producer_id=1000,
        producer_epoch=2,
        base_sequence=7,
    ),
]
_NUMBERS = [build_batch([Record(0, _NOW_MS, (7).to_bytes(8, "big"), (1).to_bytes(4, "big"))])]


def _log(name: str, batches: Sequence[bytes], cut: int = 0) -> Step:
    """A log of these, without its last bytes if it is to be torn."""
    data = b"".join(batches)
    return lambda stage: _write(stage.folder / name, data[: len(data) - cut])


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


ORDERS = (_log(f"{SEGMENT}.log", _BATCHES),)
ON_A_BROKER = (
    topic("orders", config={"index.interval.bytes": "1"}),
    *(records("orders", [str(number)]) for number in range(3)),
)
WITH_TRANSACTIONS = (topic("orders"), _transactions)
WRITTEN = f"{{data}}/orders-0/{SEGMENT}"


def case(words: str, **more: Any) -> Case:
    return Case("kafka-dump-log", words, **{"setup": ORDERS, **more})


CASES = [
    case(f"--files {LOG}"),
    case(f"--files={LOG} --deep-iteration"),
    case(f"--files {LOG} --print-data-log"),
    case(f"--files {LOG} --print-data-log --skip-record-metadata"),
    case(f"--files {LOG} --print-data-log --max-bytes 250"),
    case(f"--files {LOG} --deep-iteration --max-message-size 1000"),
    case(f"--files {LOG} --value-decoder-class org.apache.kafka.tools.api.StringDecoder"),
    case(
        f"--files {LOG} --key-decoder-class org.apache.kafka.tools.api.LongDecoder "
        "--value-decoder-class org.apache.kafka.tools.api.IntegerDecoder",
        setup=(_log(f"{SEGMENT}.log", _NUMBERS),),
    ),
    case(
        f"--files {WRITTEN}.log --print-data-log",
        name="transactions",
        setup=WITH_TRANSACTIONS,
        loose=("numbers",),
    ),
    case(
        f"--files {LOG} --deep-iteration",
        name="a torn batch",
        setup=(_log(f"{SEGMENT}.log", _BATCHES, cut=3),),
    ),
    case(f"--files {LATER}", setup=(_log("00000000000000000007.log", _BATCHES),)),
    case(
        f"--files {LOG},{LATER} --deep-iteration",
        setup=(*ORDERS, _log("00000000000000000007.log", _BATCHES)),
    ),
    case(f"--files {WRITTEN}.index", setup=ON_A_BROKER),
    case(f"--files {WRITTEN}.index --verify-index-only", setup=ON_A_BROKER),
    case(f"--files {WRITTEN}.index --index-sanity-check", setup=ON_A_BROKER),
    case(f"--files {WRITTEN}.timeindex", setup=ON_A_BROKER),
    case(f"--files {WRITTEN}.timeindex --index-sanity-check", setup=ON_A_BROKER),
    case(f"--files {WRITTEN}.txnindex", setup=WITH_TRANSACTIONS, loose=("numbers",)),
    case("--files {folder}/other.txt", setup=(file("other.txt", "x"),)),
    case("--files {folder}/00000000000000000099.log"),
    case(f"--files {LOG} --nonsense"),
    case("--print-data-log"),
    case("--files"),
    *(
        case(
            f"--files {{folder}}/{SEGMENT}.log {flag}{more}",
            setup=(segment(f"{SEGMENT}.log", states),),
        )
        for flag, states in (
            ("--offsets-decoder", OF_GROUPS),
            ("--transaction-log-decoder", OF_TRANSACTIONS),
            ("--share-group-state-decoder", OF_SHARES),
        )
        for more in ("", " --skip-record-metadata")
    ),
    case(
        f"--files {{folder}}/{SEGMENT}.log --transaction-log-decoder",
        name="records of another topic",
        setup=(segment(f"{SEGMENT}.log", OF_GROUPS),),
    ),
]
