"""Filter: drops every record. With a predicate, those that are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from headrace.pipelines.connect.config.definition import Definition
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.transform import Transform


class Filter(Transform):
    """Nothing goes on."""

    definition: ClassVar = Definition()

    def __init__(self, given: Mapping[str, object]) -> None:
        self.definition.read(given)

    def apply(self, record: Record) -> None:
        return None

    def apply_batch(self, batch: Batch) -> Sequence[Batch]:
        return []
