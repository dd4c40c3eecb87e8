"""What a transform is: a record form that each one has, and a columnar form that some have.

`apply_batch` gives None for a batch that it cannot do in columns; then the chain goes by records.
What it does give equals what the record form gives, row by row. A fault in a column says nothing of
its row: who meets one asks again by records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record


class Transform(ABC):
    """A configured transform."""

    for_sink: bool = False
    """Whether records come from Kafka, so that their positions are offsets; the chain says so."""

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """The record as it goes on, or None to drop it."""

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        """The batch as it goes on: none, one, or several where topics or schemas part."""
        return None


class Predicate(ABC):
    """A configured predicate."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record is one of those that are meant."""

    def mask(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """The same of each row."""
        return np.array([self.test(record) for record in batch.records()], bool)
