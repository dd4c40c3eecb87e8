"""Kernels are compiled once, when they are first needed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from headrace.pipelines.columns import kernels
from headrace.pipelines.columns.encode import encode_rows
from headrace.pipelines.columns.partitioner import murmur2_partitions
from headrace.pipelines.columns.schema import TIMESTAMP
from headrace.records.compression import Codec
from tests.pipelines.columns.samples import decode, opened
from tests.records.samples import RECORDS, batch_of


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_kernels_are_compiled_once(codec: Codec) -> None:
    """Whatever memory bytes and columns come from, no kernel sees types that are new to it."""
    batch = batch_of(RECORDS, compression=codec)
    for memory in (batch, bytearray(batch), memoryview(bytearray(batch)).toreadonly()):
        for headers in (False, True):
            rows = decode(opened(memory), headers=headers)
    times = np.arange(rows.num_rows)
    times.flags.writeable = False
    for column in (pa.array(times), pa.array(times).cast(TIMESTAMP), pa.nulls(len(times))):
        timed = rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", column)
        for written in (timed, timed.slice(1, 3), timed.select(["value"])):
            order = times[: written.num_rows]
            list(
                encode_rows(written, order, codec=codec, level=None, max_batch_bytes=100, now_ms=1)
            )
    murmur2_partitions(rows.column("key").cast(pa.large_string()), 3)
    for kernel in (
        kernels.measure_records,
        kernels.fill_columns,
        kernels.plan_payload,
        kernels.write_payload,
        kernels.hash_partitions,
    ):
        assert len(cast(Any, kernel).signatures) == 1


FIRST_USE = """
import sys, pyarrow, numpy
from headrace.pipelines.columns import decode, encode, partitioner, schema
assert "numba" not in sys.modules, "numba was imported with the module"
rows = pyarrow.RecordBatch.from_arrays([pyarrow.nulls(2)], names=["key"])
codec = encode.Codec.NONE
order = numpy.arange(2)
payloads = encode.encode_rows(rows, order, codec=codec, level=None, max_batch_bytes=9, now_ms=1)
assert [payload.count for payload in payloads] == [1, 1]
place = {"topic": "t", "partition": 0, "first_offset": 0, "end_offset": 1, "headers": True}
assert list(decode.decode_in_pieces([], **place)) == []
assert "numba" in sys.modules
assert "pandas" not in sys.modules, "pandas was imported for nothing"
"""


def test_nobody_waits_for_what_is_not_used() -> None:
    """numba comes with the first batch, and pandas, which pyarrow likes to ask, never."""
    subprocess.run([sys.executable, "-c", FIRST_USE], check=True, timeout=100)
