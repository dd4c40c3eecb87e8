"""The columns of a row, as Spark's own Kafka source has them, in Spark's words and in Arrow's.

Spark compares the schema of what a Python source yields with the one that it derives from the DDL,
and takes nothing but an equal one, nullability included. The two forms therefore stand side by
side, and a test holds them against PySpark's own translation.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, timestampType int"
)
SCHEMA_WITH_HEADERS: Final = SCHEMA + ", headers array<struct<key:string,value:binary>>"

HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS: Final = pa.list_(pa.field("element", HEADER))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")

_COLUMNS: Final = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", TIMESTAMP),
    pa.field("timestampType", pa.int32()),
)
_PLAIN: Final = pa.schema(_COLUMNS)
_WITH_HEADERS: Final = pa.schema([*_COLUMNS, pa.field("headers", HEADERS)])


def arrow_schema(*, headers: bool) -> pa.Schema:
    """The schema of decoded rows, with or without the column `headers`."""
    return _WITH_HEADERS if headers else _PLAIN
