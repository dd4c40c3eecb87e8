"""Files of each format, read by others."""

from __future__ import annotations

import datetime
import gzip
import io
import json
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.formats.avro import AvroFormat
from headrace.pipelines.lake.formats.format import Format
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.formats.parquet import ParquetFormat
from headrace.pipelines.lake.rows import Rows

EVERYTHING = pa.struct(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("data", pa.binary()),
        pa.field("price", pa.decimal128(38, 2)),
        pa.field("day", pa.date32()),
        pa.field("time", pa.time32("ms")),
        pa.field("at", pa.timestamp("ms", tz="UTC")),
        pa.field("tags", pa.list_(pa.field("item", pa.string(), nullable=False))),
        pa.field("sizes", pa.map_(pa.string(), pa.float64())),
        pa.field("inner", pa.struct([pa.field("flag", pa.bool_()), pa.field("n", pa.int64())])),
    ]
)
RECORD = {
    "id": 1,
    "name": "Zoë",
    "data": b"\x00\xff",
    "price": Decimal("12.30"),
    "day": datetime.date(2024, 2, 29),
    "time": datetime.time(1, 2, 3, 4000),
    "at": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
    "tags": ["a", "b"],
    "sizes": [("x", 1.5), ("y", None)],
    "inner": {"flag": True, "n": 2**40},
}
NOTHING = dict.fromkeys(RECORD) | {"id": 2}


def rows(values: pa.Array, avro: str | None = None) -> Rows:
    return Rows("t", 0, values, pa.array(range(len(values)), pa.int64()), avro=avro)


def written(format_: Format, *parts: Rows) -> bytes:
    out = io.BytesIO()
    file = format_.open(out, parts[0])
    for part in parts:
        file.write(part)
    file.finish()
    return out.getvalue()


def avro_records(data: bytes) -> list[object]:
    return list(fastavro.reader(io.BytesIO(data)))


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_avro_of_arrow(codec: str) -> None:
    data = written(AvroFormat(codec), rows(pa.array([RECORD, NOTHING], EVERYTHING)))
    assert avro_records(data) == [RECORD | {"sizes": {"x": 1.5, "y": None}}, NOTHING]


def test_avro_under_a_given_schema() -> None:
    """Maps whose keys are no strings are arrays of entries; unions are structs of their types."""
    entry = {
        "type": "record",
        "name": "Entry",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": ["null", "Leaf"]}],
    }
    leaf = {"type": "record", "name": "Leaf", "fields": [{"name": "a", "type": "long"}]}
    schema = {
        "type": "record",
        "name": "peoplerecord",
        "fields": [
            {"name": "leaf", "type": leaf},
            {"name": "leaves", "type": {"type": "array", "items": entry}},
            {"name": "either", "type": ["null", "string", "long"]},
        ],
    }
    a = pa.struct([pa.field("a", pa.int64())])
    kind = pa.struct(
        [
            ("leaf", a),
            ("leaves", pa.map_(pa.int32(), a)),
            ("either", pa.struct([("string", pa.string()), ("long", pa.int64())])),
        ]
    )
    value = {
        "leaf": {"a": 1},
        "leaves": [(7, {"a": 2}), (8, None)],
        "either": {"string": None, "long": 5},
    }
    data = written(AvroFormat(), rows(pa.array([value], kind), json.dumps(schema)))
    reader = fastavro.reader(io.BytesIO(data))
    assert isinstance(reader.writer_schema, dict)
    assert reader.writer_schema["name"] == "peoplerecord"
    assert list(reader) == [
        {
            "leaf": {"a": 1},
            "leaves": [{"key": 7, "value": {"a": 2}}, {"key": 8, "value": None}],
            "either": 5,
        }
    ]


def test_avro_has_no_type() -> None:
    with pytest.raises(LakeFault, match="Avro has no type for Arrow's duration"):
        written(AvroFormat(), rows(pa.array([datetime.timedelta(1)])))


@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
def test_parquet(codec: str) -> None:
    part = rows(pa.array([RECORD, NOTHING], EVERYTHING))
    data = written(ParquetFormat(codec), part, part)
    table = parquet.read_table(io.BytesIO(data))
    assert table.to_pylist() == [RECORD, NOTHING] * 2
    assert parquet.ParquetFile(io.BytesIO(data)).num_row_groups == 1
    values = written(ParquetFormat(codec), rows(pa.array(["a", "b"])))
    assert parquet.read_table(io.BytesIO(values)).to_pylist() == [{"value": "a"}, {"value": "b"}]


def test_large_parquet_files_have_several_groups() -> None:
    part = rows(pa.array([b"x" * 1_000_000] * 10))
    data = written(ParquetFormat("snappy"), part, part, part)
    assert parquet.ParquetFile(io.BytesIO(data)).num_row_groups == 2


def test_lines() -> None:
    texts = pa.array(["skipped", "a", "", "é"]).slice(1)
    assert written(LinesFormat(), rows(texts)) == "a\n\né\n".encode()
    data = pa.array([b"\x00", b"\xff"])
    assert written(LinesFormat(".bin", separator=b"--"), rows(data)) == b"\x00--\xff--"
    assert written(LinesFormat(), rows(pa.array([], pa.string()))) == b""
    packed = LinesFormat(".json", compress=True)
    assert packed.extension == ".json.gz"
    assert gzip.decompress(written(packed, rows(texts), rows(texts))) == "a\n\né\n".encode() * 2
