"""DropHeaders: headers of these names are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.transforms.lists import as_list, names
from headrace.pipelines.connect.transforms.transform import Transform


class DropHeaders(Transform):
    """All headers of a name go, however many there are."""

    definition: ClassVar = Definition(
        (
            Key(
                "headers",
                Kind.LIST,
                doc="The names of the headers to leave out.",
                importance="HIGH",
                check=names,
            ),
        )
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        self._dropped = frozenset(as_list(self.definition.read(given)["headers"]))

    def _kept(self, headers: tuple[Header, ...]) -> tuple[Header, ...]:
        return tuple(header for header in headers if header.name not in self._dropped)

    def apply(self, record: Record) -> Record:
        return record.but(headers=self._kept(record.headers)) if record.headers else record

    def apply_batch(self, batch: Batch) -> Sequence[Batch]:
        if batch.headers is None:
            return [batch]
        return [batch.but(headers=[self._kept(headers) for headers in batch.headers])]
