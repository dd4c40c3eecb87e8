"""InsertHeader: one header more, with a value that the settings spell out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind, present
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.values import parsed
from headrace.pipelines.connect.transforms.transform import Transform


class InsertHeader(Transform):
    """A header of the same name stays."""

    definition: ClassVar = Definition(
        (
            Key(
                "header",
                Kind.STRING,
                doc="The name of the header.",
                importance="HIGH",
                check=present,
            ),
            Key(
                "value.literal",
                Kind.STRING,
                doc="The header's value. What looks like a number, a truth value, null, a date, a "
                "time, an array or a map is one, everything else is a string.",
                importance="HIGH",
                check=present,
            ),
        )
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        schema, value = parsed(str(settings["value.literal"]))
        self._header = Header(str(settings["header"]), value, schema)

    def apply(self, record: Record) -> Record:
        return record.but(headers=(*record.headers, self._header))

    def apply_batch(self, batch: Batch) -> Sequence[Batch]:
        before = batch.headers or [()] * len(batch)
        return [batch.but(headers=[(*headers, self._header) for headers in before])]
