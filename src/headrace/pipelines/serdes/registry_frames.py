"""Which schema each row of a column names, and where its payload begins, for a whole batch at once.

Rows are grouped by schema, since each has a decoder of its own. The ids of values are read with
numpy; GUIDs in headers, of which a batch has few different ones, and frames that are no frames are
left to `headrace.schemas.framing`, which knows what to say of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.pipelines.serdes.registry_clients import SchemaKey
from headrace.pipelines.serdes.spans import BadValue, Spans, spans_of
from headrace.schemas.framing import read_message_indexes, unframe
from headrace.schemas.model import InvalidValue

_ID_BYTES: Final = 5
_GUID_BYTES: Final = 17

Rows = NDArray[np.int64]


class Group(NamedTuple):
    """Rows of one schema. `tail` is what a header had after the GUID: Protobuf's indexes."""

    key: SchemaKey
    rows: Rows
    starts: Rows
    tail: bytes | None


class Frames(NamedTuple):
    """A batch taken apart: groups by schema, and rows that name none."""

    spans: Spans
    groups: list[Group]
    bad: list[BadValue]


def read_frames(values: pa.Array, headers: pa.Array | None) -> Frames:
    """Take a batch apart."""
    spans = spans_of(values)
    groups: list[Group] = []
    bad: list[BadValue] = []
    open_rows = spans.rows[:, 0] >= 0
    if headers is not None:
        for row_numbers, header in _by_header(headers, open_rows):
            _add_header(groups, bad, row_numbers, header, spans)
        open_rows &= headers.is_null().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(open_rows)
    starts = spans.rows[rows, 0]
    sizes = spans.rows[rows, 1] - starts
    # An empty value reads the byte of another row; its size says that it does not count.
    last = max(len(spans.data) - 1, 0)
    magic = spans.data[np.minimum(starts, last)] if len(spans.data) else np.zeros(len(rows), "u1")
    with_id = (magic == 0) & (sizes >= _ID_BYTES)
    with_guid = (magic == 1) & (sizes >= _GUID_BYTES)
    groups += _by_id(spans, rows[with_id])
    groups += _by_guid(spans, rows[with_guid])
    for row in rows[~(with_id | with_guid)].tolist():
        start, end = spans.rows[row].tolist()
        bad.append(_explain(row, bytes(spans.data.data[start:end])))
    return Frames(spans, groups, bad)


def _by_id(spans: Spans, rows: Rows) -> Iterator[Group]:
    starts = spans.rows[rows, 0]
    octets = spans.data[starts[:, None] + np.arange(1, _ID_BYTES)]
    ids = np.ascontiguousarray(octets).view(">i4").reshape(-1)
    for number in np.unique(ids).tolist():
        chosen = ids == number
        yield Group(number, rows[chosen], starts[chosen] + _ID_BYTES, None)


def _by_guid(spans: Spans, rows: Rows) -> Iterator[Group]:
    starts = spans.rows[rows, 0]
    octets = spans.data[starts[:, None] + np.arange(1, _GUID_BYTES)]
    for guid in np.unique(octets, axis=0):
        chosen = (octets == guid).all(axis=1)
        yield Group(UUID(bytes=guid.tobytes()), rows[chosen], starts[chosen] + _GUID_BYTES, None)


def _by_header(headers: pa.Array, present: NDArray[np.bool_]) -> Iterator[tuple[Rows, bytes]]:
    encoded = headers.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    for code, header in enumerate(encoded.dictionary.to_pylist()):
        rows = np.flatnonzero((codes == code) & present)
        if len(rows):
            yield rows, header


def _add_header(
    groups: list[Group], bad: list[BadValue], rows: Rows, header: bytes, spans: Spans
) -> None:
    try:
        framed = unframe(header)
    except InvalidValue as error:
        bad += (
            BadValue(row, 0, "", "the GUID of a schema in the header", str(error))
            for row in rows.tolist()
        )
        return
    key = framed.schema_id if framed.guid is None else framed.guid
    assert key is not None, "a frame has an id or a GUID"
    groups.append(Group(key, rows, spans.rows[rows, 0], bytes(framed.payload)))


def _explain(row: int, value: bytes) -> BadValue:
    try:
        unframe(value)
    except InvalidValue as error:
        return BadValue(row, 0, "", "the id of a schema", str(error))
    raise AssertionError("a frame that can be read was called bad")


def by_message(
    frames: Frames, group: Group, bad: list[BadValue]
) -> Iterator[tuple[tuple[int, ...], Group]]:
    """A group of Protobuf messages by the path of indexes that says which message each is."""
    if group.tail is not None:
        try:
            yield read_message_indexes(group.tail)[0], group
        except InvalidValue as error:
            bad += (_no_indexes(row, error) for row in group.rows.tolist())
        return
    ends = frames.spans.rows[group.rows, 1]
    data = frames.spans.data
    last = max(len(data) - 1, 0)
    first = (group.starts < ends) & (data[np.minimum(group.starts, last)] == 0)
    if first.any():
        # The first message of a file is written as one byte, and is nearly always meant.
        yield (0,), Group(group.key, group.rows[first], group.starts[first] + 1, None)
    others: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    view = data.data
    for place in np.flatnonzero(~first).tolist():
        row, start, end = (int(each[place]) for each in (group.rows, group.starts, ends))
        try:
            indexes, payload = read_message_indexes(view[start:end])
        except InvalidValue as error:
            bad.append(_no_indexes(row, error))
            continue
        others.setdefault(indexes, []).append((row, end - len(payload)))
    for indexes, found in others.items():
        rows, starts = np.array(found, dtype=np.int64).T
        yield indexes, Group(group.key, rows, starts, None)


def _no_indexes(row: int, error: InvalidValue) -> BadValue:
    return BadValue(row, 5, "", "the indexes of a message", str(error))
