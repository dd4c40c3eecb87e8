"""Connect's three predicates: which records a transform is meant for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from headrace.pipelines.connect.config.definition import Definition, Key, Kind, all_of, not_empty
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.regexes import check_regex, regex_of
from headrace.pipelines.connect.transforms.transform import Predicate


class TopicNameMatches(Predicate):
    """The whole name of the topic matches an expression."""

    definition: ClassVar = Definition(
        (
            Key(
                "pattern",
                Kind.STRING,
                doc="The expression, in Java's syntax, that the whole name of a topic must match.",
                check=all_of(not_empty, check_regex),
            ),
        )
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        self._regex = regex_of(self.definition.read(given)["pattern"])

    def test(self, record: Record) -> bool:
        return self._regex.fullmatch(record.topic) is not None

    def mask(self, batch: Batch) -> npt.NDArray[np.bool_]:
        return np.full(len(batch), self._regex.fullmatch(batch.topic) is not None)


class HasHeaderKey(Predicate):
    """There is a header of a name."""

    definition: ClassVar = Definition(
        (Key("name", Kind.STRING, doc="The name of the header.", check=not_empty),)
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        self._name = self.definition.read(given)["name"]

    def test(self, record: Record) -> bool:
        return any(header.name == self._name for header in record.headers)

    def mask(self, batch: Batch) -> npt.NDArray[np.bool_]:
        carried = batch.headers or [()] * len(batch)
        return np.array([any(h.name == self._name for h in row) for row in carried], bool)


class RecordIsTombstone(Predicate):
    """The record has no value."""

    definition: ClassVar = Definition()

    def __init__(self, given: Mapping[str, object]) -> None:
        self.definition.read(given)

    def test(self, record: Record) -> bool:
        return record.value is None

    def mask(self, batch: Batch) -> npt.NDArray[np.bool_]:
        array = batch.value.arrow
        if array is None:
            return np.array([value is None for value in batch.value.to_values()], bool)
        return np.asarray(array.is_null().to_numpy(zero_copy_only=False))
